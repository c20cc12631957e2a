//go:build unix

package pty

import (
	"bufio"
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	term, err := Open(100, 30)
	if errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer term.close()
	if ws, err := unix.IoctlGetWinsize(int(term.Slave.Fd()), unix.TIOCGWINSZ); err != nil || ws.Col != 100 || ws.Row != 30 {
		t.Errorf("got size %+v, %v", ws, err)
	}
	// Without echo only what the program prints comes back.
	if _, err := term.Keys.WriteString("typed\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(term.Slave).ReadString('\n'); line != "typed\n" || err != nil {
		t.Errorf("the program read %q, %v", line, err)
	}
	if _, err := term.Slave.WriteString("printed\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(term.Master).ReadString('\n'); line != "printed\r\n" || err != nil {
		t.Errorf("we read %q, %v", line, err)
	}
	// A read that waits ends at its deadline.
	if err := term.Master.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := term.Master.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want the deadline", err)
	}
}
