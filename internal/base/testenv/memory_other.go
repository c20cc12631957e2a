//go:build !linux

package testenv

func memory() string { return "" }
