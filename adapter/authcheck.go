package adapter

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// authLimit bounds a look at a login: it reads a few small files, but one of them may be on a network that hangs.
const authLimit = 5 * time.Second

// AuthReport is the login of one agent at a moment.
type AuthReport struct {
	Agent string `json:"agent"`
	AuthState
	CheckedAt time.Time `json:"checkedAt"`
}

// CheckAuth looks whether an agent is logged in, now: nothing is cached. It reads environment and files only; what cannot be
// read is the status unknown with the reason in Details. UNKNOWN_AGENT when there is no agent of that name.
func (r *Registry) CheckAuth(ctx context.Context, name string) (AuthReport, error) {
	rec, err := r.lookup(name)
	if err != nil {
		return AuthReport{}, err
	}
	return r.checkAuth(ctx, rec), nil
}

// CheckAllAuth is CheckAuth for all agents at once, sorted by name.
func (r *Registry) CheckAllAuth(ctx context.Context) []AuthReport {
	r.mu.Lock()
	records := make([]*record, 0, len(r.agents))
	for _, name := range sortedKeys(r.agents) {
		records = append(records, r.agents[name])
	}
	r.mu.Unlock()
	reports := make([]AuthReport, len(records))
	var wg sync.WaitGroup
	for i, rec := range records {
		wg.Go(func() { reports[i] = r.checkAuth(ctx, rec) })
	}
	wg.Wait()
	return reports
}

func (r *Registry) checkAuth(ctx context.Context, rec *record) AuthReport {
	report := AuthReport{Agent: rec.descriptor.Name, CheckedAt: time.Now().UTC()}
	p, ok := As[Prober](rec.adapter)
	if !ok {
		report.AuthState = AuthState{Status: AuthUnknown, Details: "the adapter cannot look at logins"}
		return report
	}
	ctx, cancel := context.WithTimeout(ctx, authLimit)
	defer cancel()
	found := make(chan AuthState, 1) // a check that hangs ends into it, unread
	go func() {
		state, err := call(func() AuthState { return p.DetectAuth(ctx, r.host.nonBlank()) })
		if err != nil {
			state = AuthState{Status: AuthUnknown, Details: "the login check " + err.Error()}
		}
		found <- state
	}()
	select {
	case report.AuthState = <-found:
		switch report.Status {
		case Authenticated, Unauthenticated, AuthExpired, AuthUnknown:
		default:
			report.Status = AuthUnknown
		}
	case <-ctx.Done():
		report.AuthState = AuthState{Status: AuthUnknown, Details: fmt.Sprintf("no answer: %v", cancelled(ctx))}
	}
	return report
}

// AuthGuidance tells how to log in to an agent. CAPABILITY_ERROR when its adapter cannot tell, UNKNOWN_AGENT when there is
// no agent of that name.
func (r *Registry) AuthGuidance(name string) (AuthGuidance, error) {
	rec, err := r.lookup(name)
	if err != nil {
		return AuthGuidance{}, err
	}
	g, ok := As[AuthGuide](rec.adapter)
	if !ok {
		e := execution.Errorf(execution.CodeCapability, "agent %s: its adapter does not tell how to log in", rec.descriptor.Name)
		e.Agent = rec.descriptor.Name
		if rec.descriptor.Docs != "" {
			return AuthGuidance{}, e.WithHint("see %s", rec.descriptor.Docs)
		}
		return AuthGuidance{}, e
	}
	how, err := call(g.AuthGuidance)
	if err != nil {
		return AuthGuidance{}, execution.Errorf(execution.CodeInternal, "agent %s: guidance: %w", rec.descriptor.Name, err)
	}
	how.Agent = rec.descriptor.Name
	how.Steps, how.EnvVars, how.Documentation = cloneList(how.Steps), cloneList(how.EnvVars), cloneList(how.Documentation)
	return how, nil
}
