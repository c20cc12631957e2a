package supervisor

import (
	"syscall"
	"time"
	"unsafe"
)

// The calls that package syscall lacks. golang.org/x/sys/unix has them, but it imports package strings, and with it half of a
// large program would be initialized before a keeper could start its agent.

// The numbers are the same on every architecture.
const (
	sysPidfdSendSignal = 424
	sysPidfdOpen       = 434
	sysCloseRange      = 436
)

const (
	closeRangeCloexec   = 4
	prSetChildSubreaper = 36
	pollIn              = 1
	rlimitRTTime        = 15
	rlimInfinity        = ^uint64(0)
	readable, writable  = 4, 2 // for syscall.Access
)

func failed(errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

// closeOnExecFrom marks every file from first on.
func closeOnExecFrom(first uintptr) {
	_, _, _ = syscall.Syscall(sysCloseRange, first, ^uintptr(0), closeRangeCloexec) // unknown to old kernels
}

func becomeSubreaper() error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0, 0, 0, 0)
	return failed(errno)
}

type pollFD struct {
	fd      int32
	events  int16
	revents int16
}

// poll returns the number of files that have something to read, or 0 after the pause.
func poll(fds []pollFD, pause time.Duration) int {
	limit := syscall.NsecToTimespec(pause.Nanoseconds())
	n, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(unsafe.SliceData(fds))), uintptr(len(fds)),
		uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

type rlimit struct{ cur, max uint64 }

func prlimit(pid, resource int, set, old *rlimit) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), uintptr(resource), uintptr(unsafe.Pointer(set)),
		uintptr(unsafe.Pointer(old)), 0, 0)
	return failed(errno)
}

func pidfdOpen(pid int) (int, error) {
	fd, _, errno := syscall.Syscall(sysPidfdOpen, uintptr(pid), 0, 0)
	return int(fd), failed(errno)
}

func pidfdSendSignal(fd int, sig syscall.Signal) error {
	_, _, errno := syscall.Syscall6(sysPidfdSendSignal, uintptr(fd), uintptr(sig), 0, 0, 0, 0)
	return failed(errno)
}
