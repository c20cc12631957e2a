package process

import (
	"cmp"
	"time"
)

// Stream names an output stream of a process. The zero value is invalid.
type Stream uint8

// The streams of a process. A pseudo-terminal and Spec.Merge have Stdout only.
const (
	Stdout Stream = iota + 1
	Stderr
)

// String returns "stdout", "stderr" or "invalid".
func (s Stream) String() string {
	switch s {
	case Stdout:
		return "stdout"
	case Stderr:
		return "stderr"
	}
	return "invalid"
}

// The defaults of Spec.
const (
	DefaultMaxLine    = 64 << 20
	DefaultGrace      = 5 * time.Second
	DefaultDrain      = 2 * time.Second
	DefaultStderrTail = 4 << 10
)

// Spec describes what to start. It is a plain value; Start does not change it.
type Spec struct {
	// Path is the executable. The caller has looked it up; a relative path is relative to the working directory of
	// the calling program, not to Dir.
	Path string
	// Args are the arguments without argv[0], which is Path.
	Args []string
	// Dir is the working directory. Empty means that of the calling program.
	Dir string
	// Env is the complete environment; nothing is inherited. The last entry of a name wins. With a keeper the process
	// gets exactly this; without one DRAWBAR_RUN_MARK is added. In a pseudo-terminal TERM=xterm-256color is added
	// unless Env has a TERM.
	Env []string
	// Stdin is queued before the input of Write. It is not copied and must not change until Wait returns.
	Stdin []byte
	// KeepStdin leaves the input open for Write until CloseInput. Otherwise the input ends after Stdin; with an empty
	// Stdin it is the null device.
	KeepStdin bool
	// Pty runs the process in a pseudo-terminal of 120 columns and 40 rows without echo. All its output is Stdout.
	// The end of the input is Ctrl-D and Interrupt is Ctrl-C, as if typed; a terminal in line mode drops what exceeds
	// 4,095 bytes of one input line.
	Pty bool
	// Merge redirects standard error to the pipe of standard output, in the order of the writes.
	Merge bool
	// MaxLine bounds the bytes of a delivered line. Zero means 64 MiB.
	MaxLine int
	// Grace is the time between TERM and KILL unless Stop states another. Zero means 5 s, a negative value no grace.
	Grace time.Duration
	// Drain is how long descendants may keep the streams open after the exit of the process. Zero means 2 s, a
	// negative value no waiting.
	Drain time.Duration
	// Roomy gives standard output the largest pipe that the system allows (Linux), for a program that exits before
	// its output was read and loses what exceeds the pipe.
	Roomy bool
	// StderrTail bounds Exit.StderrTail in bytes. Zero means 4 KiB, a negative value keeps nothing.
	StderrTail int

	// Run names the run of the process for Survivors and EndSurvivors. Two processes of one name must not run at
	// once.
	Run string
	// Scratch are folders of the run that a keeper removes with its processes when the calling program is gone. While
	// it lives, the program removes them itself by RemoveScratch.
	Scratch []string

	withoutKeeper, withoutGroup bool          // for tests of missing platform features
	killLimit                   time.Duration // for tests; zero means supervisor.KillLimit
}

func (s Spec) maxLine() int         { return cmp.Or(s.MaxLine, DefaultMaxLine) }
func (s Spec) grace() time.Duration { return cmp.Or(s.Grace, DefaultGrace) }
func (s Spec) drain() time.Duration { return cmp.Or(s.Drain, DefaultDrain) }
func (s Spec) stderrTail() int      { return cmp.Or(s.StderrTail, DefaultStderrTail) }

// Line is one line of output without its newline and without one carriage return before it. The bytes are those of
// the process, valid UTF-8 or not.
type Line struct {
	Stream Stream
	// Data is valid until the next call of Next. The receiver may not change or keep it.
	Data []byte
	// Truncated reports that the line was longer than Spec.MaxLine; Data holds its start.
	Truncated bool
	// Skipped counts the bytes of a truncated line that are not in Data.
	Skipped int64
}

// Exit is how a process ended.
type Exit struct {
	// Code is the exit code, or -1 if a signal ended the process or the end is unknown (see Err).
	Code int
	// Signal is the name of the signal that ended the process, such as "SIGTERM"; else empty.
	Signal string
	// Err is a failure to run the process, such as ErrKeeperLost or ErrSurvivors. It is nil for a process that failed
	// by itself.
	Err error
	// StderrTail is the end of standard error, at most Spec.StderrTail bytes; of standard output if there is no
	// separate standard error (Pty, Merge).
	StderrTail string
	// Stopped reports that Stop or the end of the context asked the process to end.
	Stopped bool
	// Killed reports that the process was still running after the grace.
	Killed bool
	// Cut reports that a descendant kept the streams open beyond Spec.Drain, so its later output is missing.
	Cut bool
	// Survivors counts the descendants that had to be killed after, or with, the process.
	Survivors int
	// Duration is the time from the start to the end of process and streams.
	Duration time.Duration
}
