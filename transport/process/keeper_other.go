//go:build !linux

package process

// MaybeKeeper does nothing on this system: only Linux has keepers.
func MaybeKeeper() {}
