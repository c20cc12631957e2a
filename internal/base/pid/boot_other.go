//go:build !linux && !darwin

package pid

// Boot identifies the current boot of this machine. It is empty if the system does not tell.
func Boot() string { return "" }
