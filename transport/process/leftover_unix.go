//go:build unix

package process

import (
	"os"
	"syscall"
	"time"
)

// leftover returns up to limit bytes that lie in a pipe whose reader has given up at its deadline: on a machine that is busy, what a
// program wrote before it exited may not have been read by then.
func leftover(f *os.File, limit int) (rest []byte) {
	if f.SetDeadline(time.Time{}) != nil {
		return nil
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	_ = conn.Read(func(fd uintptr) bool { // the pipe does not block, and nobody waits for more
		buf := make([]byte, 64<<10)
		for len(rest) < limit {
			n, err := syscall.Read(int(fd), buf[:min(len(buf), limit-len(rest))])
			if n <= 0 || err != nil {
				break
			}
			rest = append(rest, buf[:n]...)
		}
		return true
	})
	return rest
}
