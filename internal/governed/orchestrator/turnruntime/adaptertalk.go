package turnruntime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/transport/process"
)

// errAdapterEnded says that an adapter's program ended before it answered.
var errAdapterEnded = errors.New("the adapter ended")

// adapterAnswer is a line of an adapter: the answer to the request with that id.
type adapterAnswer struct {
	ID     *int64          `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
		Stack   string `json:"stack"`
	} `json:"error"`
}

// adapterTalk is the conversation with an adapter's program: one request at a time, one JSON line each. Lines of its
// output that are no answers go to the log.
type adapterTalk struct {
	h    process.Handle
	job  *job
	log  *transcript
	last int64

	answers chan adapterAnswer // closed at the end of the output
	closed  chan struct{}      // nobody reads answers any more
	done    chan struct{}      // the output is read
	long    error              // a line that exceeded the limit; valid after answers is closed
}

func newAdapterTalk(h process.Handle, j *job, log *transcript) *adapterTalk {
	t := &adapterTalk{h: h, job: j, log: log, answers: make(chan adapterAnswer), closed: make(chan struct{}), done: make(chan struct{})}
	go t.read()
	return t
}

// read reads the program's output to its end.
func (t *adapterTalk) read() {
	defer close(t.done)
	defer close(t.answers)
	if err := process.ReadAll(t.h, t.line); err != nil {
		t.log.note("cannot read the output: %v", err)
	}
}

func (t *adapterTalk) line(l process.Line) {
	t.job.sign(l.Stream.String(), t.job.now())
	if l.Stream == process.Stderr {
		t.log.line("[stderr] ", l.Data)
		return
	}
	if l.Truncated && t.long == nil {
		t.long = fmt.Errorf("a line of the adapter has %d bytes, more than the limit of %d", int64(len(l.Data))+l.Skipped, len(l.Data))
		t.log.note("stopping: %v", t.long)
		t.h.Stop(-1)
		return
	}
	data := bytes.TrimSpace(l.Data)
	if len(data) == 0 {
		return
	}
	var a adapterAnswer
	if data[0] != '{' || json.Unmarshal(data, &a) != nil || a.ID == nil {
		t.log.line("[stdout] ", l.Data)
		return
	}
	select {
	case t.answers <- a:
	case <-t.closed:
	}
}

// call sends a request and waits for its answer.
func (t *adapterTalk) call(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	t.last++
	name := t.job.d.Runtime.Type
	line, err := protocol.Marshal(map[string]any{"id": t.last, "method": method, "params": params})
	if err != nil {
		return nil, fmt.Errorf("%s of the adapter %s: %w", method, name, err)
	}
	t.log.note("%s", method)
	if err := t.h.Write(append(line, '\n')); err != nil {
		t.log.note("cannot write to the adapter: %v", err) // it ended, which the answers say
	}
	for {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s of the adapter %s did not finish: %w", method, name, context.Cause(ctx))
		case a, ok := <-t.answers:
			switch {
			case !ok && ctx.Err() != nil:
				return nil, fmt.Errorf("%s of the adapter %s did not finish: %w", method, name, context.Cause(ctx))
			case !ok && t.long != nil:
				return nil, fmt.Errorf("%s of the adapter %s: %w", method, name, t.long)
			case !ok:
				return nil, fmt.Errorf("%s of the adapter %s: %w before it answered", method, name, errAdapterEnded)
			case *a.ID != t.last:
				t.log.note("an answer to request %d is ignored: request %d waits for one", *a.ID, t.last)
				continue
			case a.Error != nil:
				if a.Error.Stack != "" {
					t.log.line("[error] ", []byte(a.Error.Stack))
				}
				return nil, fmt.Errorf("%s of the adapter %s failed: %s", method, name, head(a.Error.Message, 500))
			}
			return a.Result, nil
		}
	}
}

// end ends the program, which should end when its input does, and waits for it.
func (t *adapterTalk) end(grace time.Duration) process.Exit {
	close(t.closed)
	t.h.CloseInput()
	timer := time.NewTimer(min(closeWait, max(grace, 0)))
	defer timer.Stop()
	select {
	case <-t.done:
	case <-timer.C:
		t.h.Stop(grace)
	}
	<-t.done
	return t.h.Wait()
}
