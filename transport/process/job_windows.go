package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// job is a process in a job object. The object ends with its last handle, which is ours: the tree does not outlive
// the host program, however it ends.
type job struct {
	proc   *os.Process
	handle windows.Handle
	end    chan status
	ended  atomic.Bool // the process itself
	limit  time.Duration

	mu     sync.Mutex
	closed bool
	killed bool
	left   int
}

func startChild(_ context.Context, l launch) (child, error) {
	h, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("create a job object: %w", err)
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(h, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		_ = windows.CloseHandle(h)
		return nil, fmt.Errorf("limit a job object: %w", err)
	}
	// Suspended, so that it starts nothing before it is in the job.
	proc, err := os.StartProcess(l.path, l.argv, &os.ProcAttr{
		Dir: l.dir, Env: l.env, Files: l.files[:],
		Sys: &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true},
	})
	if err != nil {
		_ = windows.CloseHandle(h)
		return nil, err
	}
	if err := errors.Join(assign(h, proc.Pid), resume(proc.Pid)); err != nil {
		_ = proc.Kill()
		_, _ = proc.Wait()
		_ = windows.CloseHandle(h)
		return nil, fmt.Errorf("put the process into its job object: %w", err)
	}
	j := &job{proc: proc, handle: h, end: make(chan status, 2), limit: l.killLimit}
	go func() {
		state, err := proc.Wait()
		j.ended.Store(true)
		if err != nil {
			j.end <- status{code: -1, err: err}
			return
		}
		j.end <- status{code: state.ExitCode()}
	}()
	return j, nil
}

func assign(h windows.Handle, pid int) error {
	p, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(p)
	return windows.AssignProcessToJobObject(h, p)
}

// resume starts the only thread of a suspended process.
func resume(pid int) error {
	snap, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(snap)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snap, &entry); err == nil; err = windows.Thread32Next(snap, &entry) {
		if entry.OwnerProcessID != uint32(pid) {
			continue
		}
		t, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return err
		}
		_, err = windows.ResumeThread(t)
		_ = windows.CloseHandle(t)
		return err
	}
	return fmt.Errorf("find the thread of process %d: %w", pid, err)
}

func (j *job) pid() int              { return j.proc.Pid }
func (j *job) exited() <-chan status { return j.end }

func (j *job) signal(sig os.Signal) error {
	switch sig {
	case os.Interrupt:
		return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(j.proc.Pid))
	case os.Kill:
		j.kill()
		return nil
	}
	return ErrUnsupported
}

func (j *job) kill() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed || j.killed {
		return
	}
	j.killed = true
	j.left = j.active()
	if !j.ended.Load() {
		j.left-- // the process itself is not a survivor
	}
	_ = windows.TerminateJobObject(j.handle, 1)
}

// abandon gives up a process that cannot die, and the goroutine that waits for it.
func (j *job) abandon() { j.end <- status{code: -1, err: ErrSurvivors} }

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type accounting struct {
	times           [4]int64
	pageFaults      uint32
	totalProcesses  uint32
	activeProcesses uint32
	terminated      uint32
}

// active returns the number of live processes in the job, -1 if unknown.
func (j *job) active() int {
	const basicAccounting = 1
	var a accounting
	if err := windows.QueryInformationJobObject(j.handle, basicAccounting, uintptr(unsafe.Pointer(&a)),
		uint32(unsafe.Sizeof(a)), nil); err != nil {
		return -1
	}
	return int(a.activeProcesses)
}

func (j *job) finish() (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	deadline := time.Now().Add(j.limit)
	var err error
	for j.active() > 0 {
		if time.Now().After(deadline) {
			err = fmt.Errorf("%w: %d left in the job of process %d", ErrSurvivors, j.active(), j.proc.Pid)
			break
		}
		time.Sleep(time.Millisecond)
	}
	_ = windows.CloseHandle(j.handle)
	return max(j.left, 0), err
}
