package process

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// growPipe enlarges a pipe to the maximum. A user above the limit of pipe memory keeps the default size.
func growPipe(f *os.File) {
	text, err := os.ReadFile("/proc/sys/fs/pipe-max-size")
	if err != nil {
		return
	}
	size, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return
	}
	if conn, err := f.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size) })
	}
}
