package run

import (
	"bufio"
	"cmp"
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
)

// output writes the events of a run, as JSON lines or for people. With --quiet or the result as JSON it writes none.
type output struct {
	app   *cli.App
	run   *agent.Run
	quiet bool
	// document is the conversation, with --format markdown: then standard output has nothing else.
	document *document
	render   *cli.Renderer // nil with --json
	mu       sync.Mutex
	buf      *bufio.Writer
	stop     chan struct{}
	done     chan struct{}
	err      error // first write error; nothing is written after it
}

func newOutput(app *cli.App, run *agent.Run, a *answer, req execution.Request, status *cli.StatusLine) *output {
	o := &output{app: app, run: run, quiet: a.quiet}
	switch {
	case a.format == "json":
		return o
	case !app.JSON:
		o.render = cli.NewRenderer(app, req.Run.Debug, status)
		if a.format == "markdown" {
			o.document = newDocument(req)
			o.render.Mute()
		}
		return o
	}
	o.buf, o.stop, o.done = bufio.NewWriterSize(app.Out, 64<<10), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(o.done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				o.flush()
			case <-o.stop:
				return
			}
		}
	}()
	return o
}

func (o *output) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.buf.Flush(); err != nil && o.err == nil {
		o.err = err
		if errors.Is(err, syscall.EPIPE) {
			o.app.Warnf("nothing reads the events any more; the run continues: drawbar logs -f %s", o.run.ID())
		} else {
			o.app.Warnf("write events: %v", err)
		}
	}
}

func (o *output) event(e execution.Event) {
	if o.document != nil {
		o.document.add(e)
	}
	switch {
	case o.quiet:
		if f, ended := e.Body.(execution.Finished); ended && e.Parent == "" {
			o.render.Answer(f.Result)
		}
		return
	case o.render != nil:
		o.render.Event(e)
		return
	case o.buf == nil:
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	b, err := e.AppendJSON(o.buf.AvailableBuffer())
	if o.err = cmp.Or(o.err, err); o.err != nil {
		return
	}
	o.buf.Write(cli.EscapeJSON(b)) // flush reports the error
	o.buf.WriteByte('\n')
}

// question writes a question that standard input can answer, unless another one is on the screen.
func (o *output) question(e execution.Event, shown *Shown) {
	if o.render == nil {
		o.event(e)
	}
	if shown.Add(e, o.render) {
		o.show(e, 1)
	}
}

// show writes a question for people.
func (o *output) show(e execution.Event, waiting int) {
	if o.render != nil {
		o.render.Question(e, waiting)
	}
}

func (o *output) close() {
	if o.buf == nil {
		return
	}
	close(o.stop)
	<-o.done
	o.flush()
}
