package rpc

import (
	"context"
	"encoding/json"
	"time"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// Project is a governed project: the nearest folder at or above Cwd with an agentxchain.json.
type Project struct {
	Cwd string `json:"cwd"`
}

// Report is what a command of drawbar govern answers to --json.
type Report = json.RawMessage

// GovernNotice is the parameters of govern.notice.
type GovernNotice struct {
	Cwd    string           `json:"cwd"`
	Kind   string           `json:"kind"`
	TurnID string           `json:"turnId,omitempty"`
	Role   string           `json:"role,omitempty"`
	Text   string           `json:"text,omitempty"`  // for a person
	Event  *execution.Event `json:"event,omitempty"` // of the agent, if the kind is event
}

func (s *server) project(cwd string) (govern.Engine, error) {
	dir, err := dirOf(cwd)
	if err != nil {
		return nil, err
	}
	h, err := s.home(dir)
	if err != nil {
		return nil, err
	}
	return drawbar.OpenProject(dir, govern.Options{Agents: h.client.GovernedAgents(), Owner: "drawbar rpc",
		Trust: func(string, []govern.TrustItem) bool { return s.trust },
		Notice: func(n govern.Notice) {
			s.notify("govern.notice", GovernNotice{dir, string(n.Kind), n.TurnID, n.Role, n.Text, n.Event})
		}})
}

// report runs a method of an engine.
func report[T any](s *server, cwd string, f func(govern.Engine) (T, error)) (Report, error) {
	e, err := s.project(cwd)
	if err != nil {
		return nil, err
	}
	v, err := f(e)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func governStatus(ctx context.Context, s *server, p Project) (Report, error) {
	return report(s, p.Cwd, func(e govern.Engine) (govern.Status, error) { return e.Status(ctx) })
}

// Step is the parameters of govern.step.
type Step struct {
	Cwd       string `json:"cwd"`
	Role      string `json:"role,omitempty"`   // of the next turn; the rules choose without
	Resume    bool   `json:"resume,omitempty"` // clear a block first
	TimeoutMs int64  `json:"timeoutMs,omitempty"`
	NoWait    bool   `json:"noWait,omitempty"` // prepare a person's turn and return
}

func governStep(ctx context.Context, s *server, p Step) (Report, error) {
	return report(s, p.Cwd, func(e govern.Engine) (govern.Report, error) {
		return e.Step(ctx, govern.StepOptions{Role: p.Role, Resume: p.Resume, Timeout: time.Duration(p.TimeoutMs) * time.Millisecond, NoWait: p.NoWait})
	})
}

// GovernRun is the parameters of govern.run.
type GovernRun struct {
	Cwd         string `json:"cwd"`
	MaxTurns    int    `json:"maxTurns,omitempty"`
	AutoApprove bool   `json:"autoApprove,omitempty"` // gates that ask for a person, except credentialed ones
	DryRun      bool   `json:"dryRun,omitempty"`
	Resume      bool   `json:"resume,omitempty"`
	TimeoutMs   int64  `json:"timeoutMs,omitempty"` // of a turn
}

func governRun(ctx context.Context, s *server, p GovernRun) (Report, error) {
	return report(s, p.Cwd, func(e govern.Engine) (govern.RunReport, error) {
		return e.Run(ctx, govern.RunOptions{MaxTurns: p.MaxTurns, AutoApprove: p.AutoApprove, DryRun: p.DryRun, Resume: p.Resume, Timeout: time.Duration(p.TimeoutMs) * time.Millisecond})
	})
}

// Approve is the parameters of govern.approve.
type Approve struct {
	Cwd     string `json:"cwd"`
	By      string `json:"by,omitempty"` // who approves; git's user without
	Comment string `json:"comment,omitempty"`
	DryRun  bool   `json:"dryRun,omitempty"`
}

func person(name string) protocol.Person { return protocol.Person{Name: name} }

func governApprove(ctx context.Context, s *server, p Approve) (Report, error) {
	return report(s, p.Cwd, func(e govern.Engine) (govern.Report, error) {
		return e.Approve(ctx, govern.ApproveOptions{Either: true, By: person(p.By), Comment: p.Comment, DryRun: p.DryRun})
	})
}

// Decline is the parameters of govern.decline.
type Decline struct {
	Cwd    string `json:"cwd"`
	Reason string `json:"reason"`
	Role   string `json:"role,omitempty"`  // to continue with; the role that asked without
	Phase  string `json:"phase,omitempty"` // to continue in
	By     string `json:"by,omitempty"`
}

func governDecline(ctx context.Context, s *server, p Decline) (Report, error) {
	return report(s, p.Cwd, func(e govern.Engine) (govern.Report, error) {
		return e.Decline(ctx, govern.DeclineOptions{Reason: p.Reason, Role: p.Role, Phase: p.Phase, By: person(p.By)})
	})
}
