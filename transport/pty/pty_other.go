//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package pty

// Open returns ErrUnsupported on this platform.
func Open(columns, rows uint16) (*Terminal, error) { return nil, ErrUnsupported }
