//go:build !linux && !darwin

package pid

// Boot identifies this boot of this machine. It is empty where the system does not say.
func Boot() string { return "" }
