package configstore

import "golang.org/x/sys/unix"

// mountSmall mounts a file system that is soon full.
func mountSmall(dir string) error { return unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k") }
