package policy

import (
	"context"
	"strings"
	"sync"
)

// Trust is how far a tool is trusted.
type Trust string

// The steps of trust.
const (
	Sandbox Trust = "sandbox" // only where it can do no harm: Action.Metadata has sandboxed: true
	Ask     Trust = "ask"
	Allowed Trust = "allow"
)

// ToolPrefix begins the type of an action that calls a tool.
const ToolPrefix = "tool:"

// ToolTrust grows with what a tool has done: from sandbox to ask to allow, each after Need good uses. A bad one takes it back to its start.
// It is safe for concurrent use.
type ToolTrust struct {
	// Need is how many good uses are needed for each step; 0 is 3.
	Need int
	// Start is the trust of a tool that was never used, by its name; others start in the sandbox.
	Start map[string]Trust
	// Most is the highest trust of a tool, by its name; others may reach allow.
	Most map[string]Trust

	mu   sync.Mutex
	uses map[string]*use
}

type use struct {
	trust Trust
	good  int // since the last step
}

// of returns the state of a tool. The caller has the lock.
func (t *ToolTrust) of(tool string) *use {
	if t.uses == nil {
		t.uses = map[string]*use{}
	}
	u := t.uses[tool]
	if u == nil {
		u = &use{trust: t.start(tool)}
		t.uses[tool] = u
	}
	return u
}

func (t *ToolTrust) start(tool string) Trust {
	if s := t.Start[tool]; s == Ask || s == Allowed {
		return s
	}
	return Sandbox
}

// Of returns how far a tool is trusted.
func (t *ToolTrust) Of(tool string) Trust {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of(tool).trust
}

// Used notes how a use of a tool ended.
func (t *ToolTrust) Used(tool string, good bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.of(tool)
	if !good {
		u.trust, u.good = t.start(tool), 0
		return
	}
	need := t.Need
	if need <= 0 {
		need = 3
	}
	if u.good++; u.good < need || u.trust == Allowed || u.trust == t.Most[tool] {
		return
	}
	u.good = 0
	if u.trust == Sandbox {
		u.trust = Ask
	} else {
		u.trust = Allowed
	}
}

// Rule decides about calls of tools.
func (t *ToolTrust) Rule(id string, priority int) Rule {
	return Rule{ID: id, Priority: priority, Description: "tools earn their trust", Evaluate: func(_ context.Context, a Action, _ Risk) (*Decision, error) {
		tool, is := strings.CutPrefix(a.Type, ToolPrefix)
		if !is {
			return nil, nil
		}
		switch t.Of(tool) {
		case Allowed:
			return &Decision{Verdict: Allow}, nil
		case Ask:
			return &Decision{Verdict: RequireApproval, Reason: "the tool " + tool + " asks each time"}, nil
		}
		if boxed, _ := a.Metadata["sandboxed"].(bool); boxed {
			return &Decision{Verdict: Allow, Reason: "in a sandbox"}, nil
		}
		return &Decision{Verdict: Deny, Reason: "the tool " + tool + " is trusted only in a sandbox"}, nil
	}}
}
