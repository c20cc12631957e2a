package top

import (
	"errors"
	"io"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/control"
)

// inEditor lets the person change what a run asks about in their editor, which has the terminal meanwhile, and allows what they made of it.
func (s *screen) inEditor(r row, id execution.QuestionID) tea.Cmd {
	made := ""
	return tea.Exec(&editing{run: func() error {
		status, err := s.do(s.ctx, r.run.ControlPath(), control.Call{Verb: "status", Question: id})
		if err != nil {
			return err
		}
		i := slices.IndexFunc(status.Pending, func(q control.PendingQuestion) bool { return q.ID == id })
		if i < 0 {
			return errors.New("the question does not wait any more")
		}
		d := execution.Decision{Approve: true}
		if d.Input, err = s.app.EditCall(s.ctx, string(r.run.ID), status.Pending[i].Call()); err == nil {
			_, err = s.do(s.ctx, r.run.ControlPath(), control.Call{Verb: "answer", Question: id, Decision: &d})
		}
		made = "approved as you changed it: " + cli.OneLine(status.Pending[i].String(), 60)
		return err
	}}, func(err error) tea.Msg {
		if err != nil {
			return answered{id, err.Error()}
		}
		return answered{id, made}
	})
}

// editing is something that has the terminal for a while.
type editing struct{ run func() error }

func (e *editing) Run() error        { return e.run() }
func (*editing) SetStdin(io.Reader)  {} // the app has its own
func (*editing) SetStdout(io.Writer) {}
func (*editing) SetStderr(io.Writer) {}
