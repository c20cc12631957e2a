package turnruntime

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/secret"
)

const (
	transcriptHead = 4 << 20   // kept from the beginning of an attempt
	transcriptTail = 256 << 10 // and from its end
	transcriptLine = 64 << 10  // of one line
)

// transcript is the evidence file of a worker's output: bounded and redacted. A full disk ends the transcript but not
// the work.
type transcript struct {
	redact map[string]*secret.Lines // by mark
	know   *secret.Redactor
	also   io.Writer
	now    func() time.Time
	json   bool // every line is an object, Drawbar's own included

	mu      sync.Mutex
	file    *os.File
	w       *bufio.Writer
	written int
	tail    [][]byte // lines after the head
	kept    int      // bytes in tail
	dropped int64
	err     error
}

// openTranscript appends to the evidence file of the given name.
func openTranscript(d Dispatch, name string, redact *secret.Redactor, now func() time.Time) (*transcript, error) {
	dir := d.evidenceDir()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, localError("make the folder of the evidence", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, localError("open the transcript", err)
	}
	return &transcript{redact: map[string]*secret.Lines{}, know: redact, also: d.Log, now: now, file: f, w: bufio.NewWriter(f)}, nil
}

// line writes one line, after mark.
func (t *transcript) line(mark string, data []byte) {
	data = t.clean(mark, data) // redact first: half a secret would not be recognized
	switch {
	case len(data) > transcriptLine && t.json:
		data = t.own(fmt.Sprintf("an event of %d bytes is omitted", len(data)))
	case len(data) > transcriptLine:
		data = fmt.Appendf(data[:transcriptLine:transcriptLine], "... (%d bytes omitted)", len(data)-transcriptLine)
	}
	line := make([]byte, 0, len(mark)+len(data)+1)
	line = append(append(append(line, mark...), data...), '\n')
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.also != nil {
		_, _ = t.also.Write(line)
	}
	if t.written+len(line) <= transcriptHead && len(t.tail) == 0 {
		t.written += len(line)
		t.write(line)
		return
	}
	t.tail = append(t.tail, line)
	for t.kept += len(line); t.kept > transcriptTail && len(t.tail) > 1; t.tail = t.tail[1:] {
		t.kept -= len(t.tail[0])
		t.dropped += int64(len(t.tail[0]))
	}
}

// clean redacts one line.
func (t *transcript) clean(mark string, data []byte) []byte {
	if t.json {
		return t.know.JSON(data, nil)
	}
	return []byte(t.cleanLine(mark, string(data)))
}

// cleanLine redacts one line of the output that mark names.
func (t *transcript) cleanLine(mark, line string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := t.redact[mark]
	if lines == nil {
		lines = &secret.Lines{Redactor: t.know}
		t.redact[mark] = lines
	}
	return lines.Text(line)
}

// note writes a line of Drawbar's own.
func (t *transcript) note(format string, args ...any) {
	t.line("", t.own(fmt.Sprintf(format, args...)))
}

// own formats a line of Drawbar's own.
func (t *transcript) own(text string) []byte {
	at := t.now().UTC()
	if !t.json {
		return fmt.Appendf(nil, "[drawbar %s] %s", at.Format("15:04:05.000"), text)
	}
	b, err := protocol.Marshal(map[string]any{"type": "drawbar", "timestamp": at.UnixMilli(), "message": text})
	if err != nil {
		panic(err) // strings and a number
	}
	return b
}

func (t *transcript) write(p []byte) {
	if t.err == nil {
		_, t.err = t.w.Write(p)
	}
}

// flush makes what was written so far readable for other processes.
func (t *transcript) flush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = t.w.Flush()
	}
}

func (t *transcript) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dropped > 0 {
		t.write(append(t.own(fmt.Sprintf("%d bytes are omitted here", t.dropped)), '\n'))
	}
	for _, l := range t.tail {
		t.write(l)
	}
	t.tail = nil
	if t.err == nil {
		t.err = t.w.Flush()
	}
	return errors.Join(t.err, t.file.Close())
}
