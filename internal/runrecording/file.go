package runrecording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/exactjson"
	"github.com/drawbar/drawbar/internal/base/linefile"
)

var format = linefile.Format{Key: "recording", Version: 1, MaxLine: 64 << 20, MaxFile: 1 << 30}

// line is one line; one member is set.
type line struct {
	Run       *runLine        `json:"run,omitempty"`
	Execution *executionLine  `json:"execution,omitempty"`
	Event     json.RawMessage `json:"event,omitempty"`
	Command   *commandLine    `json:"command,omitempty"`
	Tool      *toolLine       `json:"tool,omitempty"`
	Hook      *hookLine       `json:"hook,omitempty"`
	Used      *usedLine       `json:"used,omitempty"`
	End       *endLine        `json:"end,omitempty"`
}

type runLine struct {
	Request json.RawMessage `json:"request"`
	Cwd     string          `json:"cwd"`
	Version string          `json:"version,omitempty"`
}

type executionLine struct {
	Agent        string           `json:"agent"`
	SessionUsage *execution.Usage `json:"sessionUsage,omitempty"`
}

type commandLine struct {
	Say      *sayLine    `json:"say,omitempty"`
	Answer   *answerLine `json:"answer,omitempty"`
	EndInput bool        `json:"endInput,omitempty"`
}

type sayLine struct {
	ID   execution.InputID `json:"id"`
	Text string            `json:"text"`
	When execution.When    `json:"when,omitempty"`
}

type answerLine struct {
	ID       execution.QuestionID `json:"id"`
	Decision execution.Decision   `json:"decision"`
}

type toolLine struct {
	Call    execution.ToolCall   `json:"call"`
	Result  execution.ToolResult `json:"result"`
	Failure string               `json:"failure,omitempty"` // the caller could not be asked
}

type hookLine struct {
	Call   execution.HookCall   `json:"call"`
	Result execution.HookResult `json:"result"`
}

type usedLine struct {
	Agent   string          `json:"agent"`
	Session string          `json:"session"`
	Usage   execution.Usage `json:"usage"`
}

type endLine struct {
	Status execution.Status `json:"status"`
}

// kinds counts the members that are set.
func (l *line) kinds() (n int) {
	for _, set := range []bool{l.Run != nil, l.Execution != nil, l.Event != nil, l.Command != nil, l.Tool != nil, l.Hook != nil, l.Used != nil, l.End != nil} {
		if set {
			n++
		}
	}
	return n
}

// run is one recorded run.
type run struct {
	runLine
	line  int // in the file
	lines []recorded
	used  bool // by a replay
	ended bool
}

// recorded is a line of a run, as text and decoded.
type recorded struct {
	text []byte
	line
}

// runs reads the lines of a file.
type runs struct{ list []*run }

// add reads a line. The blocks and what is in them have to be complete.
func (r *runs) add(n int, text []byte) error {
	x := recorded{text: text}
	if err := exactjson.Decode(text, &x.line, nil); err != nil {
		return err
	}
	if x.kinds() != 1 {
		return errors.New("want one of run, execution, event, command, tool, hook, used and end")
	}
	open := r.last() != nil && !r.last().ended
	switch {
	case x.Run != nil && open:
		return fmt.Errorf("a run begins within the run that begins in line %d; an end line is missing", r.list[len(r.list)-1].line)
	case x.Run != nil && !json.Valid(x.Run.Request):
		return errors.New("run.request is missing")
	case x.Run != nil:
		r.list = append(r.list, &run{runLine: *x.Run, line: n})
		return nil
	case !open:
		return errors.New("it is in no run; a run line is missing")
	}
	last := r.list[len(r.list)-1]
	if len(last.lines) == 0 && x.Execution == nil && x.Used == nil && x.End == nil {
		return errors.New("it is in no execution; an execution line is missing")
	}
	if err := x.check(); err != nil {
		return err
	}
	last.lines = append(last.lines, x)
	last.ended = x.End != nil
	return nil
}

// check finds what a replay could not use.
func (x *recorded) check() error {
	switch {
	case x.Event != nil:
		var e execution.Event
		return json.Unmarshal(x.Event, &e)
	case x.Command != nil:
		n := 0
		for _, set := range []bool{x.Command.Say != nil, x.Command.Answer != nil, x.Command.EndInput} {
			if set {
				n++
			}
		}
		if n != 1 {
			return errors.New("command: want one of say, answer and endInput")
		}
	case x.Execution != nil && x.Execution.Agent == "":
		return errors.New("execution.agent is missing")
	}
	return nil
}

// complete reports a run that does not end.
func (r *runs) complete() error {
	if last := r.last(); last != nil && !last.ended {
		return &linefile.LineError{Line: last.line, Err: fmt.Errorf("the run that begins here is %w: its end line is missing; delete its lines, or record again", linefile.ErrCutOff)}
	}
	return nil
}

// last is the run that was read last, nil for none.
func (r *runs) last() *run {
	if len(r.list) == 0 {
		return nil
	}
	return r.list[len(r.list)-1]
}

func load(path string) ([]*run, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	return read(f)
}

// read returns the runs of a file; with linefile.ErrCutOff, those before the one that was cut off.
func read(r io.Reader) ([]*run, error) {
	var all runs
	err := format.Read(r, all.add)
	if err == nil {
		err = all.complete()
	}
	if err != nil && !errors.Is(err, linefile.ErrCutOff) {
		return nil, err
	}
	if last := all.last(); last != nil && !last.ended {
		all.list = all.list[:len(all.list)-1]
	}
	return all.list, err
}
