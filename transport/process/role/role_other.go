//go:build !linux

// Package role starts this program again as a supervisor; there are none on this platform.
package role

// StartAhead does nothing here: there are no keepers.
func StartAhead() {}
