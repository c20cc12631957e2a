//go:build !linux

package process

func ancestors() []string { return nil }
