//go:build !unix

package copilot

func playLauncher() {}
