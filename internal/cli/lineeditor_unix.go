//go:build unix

package cli

import "syscall"

// stopProcess stops this program and what runs with it in the foreground until the shell continues it.
func stopProcess() { _ = syscall.Kill(0, syscall.SIGTSTP) } // its own group exists
