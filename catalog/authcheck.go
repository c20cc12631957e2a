package catalog

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// authLimit limits a login check: it reads a few small files, but one may be on a network that hangs.
const authLimit = 5 * time.Second

// AuthReport is the login state of one agent.
type AuthReport struct {
	Agent string `json:"agent"`
	adapter.AuthState
	CheckedAt time.Time `json:"checkedAt"`
}

// CheckAuth reports whether an agent is logged in, without caching. It reads only the environment and files; if
// they cannot be read, the status is unknown with the reason in Details. The error is UNKNOWN_AGENT.
func (r *Registry) CheckAuth(ctx context.Context, name string) (AuthReport, error) {
	rec, err := r.lookup(name)
	if err != nil {
		return AuthReport{}, err
	}
	return r.checkAuth(ctx, rec), nil
}

// CheckAllAuth runs CheckAuth for all listed agents concurrently; the result is sorted by name.
func (r *Registry) CheckAllAuth(ctx context.Context) []AuthReport {
	records := r.records()
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
	a, err := rec.made()
	if err != nil {
		report.AuthState = adapter.AuthState{Status: adapter.AuthUnknown, Details: clip(err.Error())}
		return report
	}
	p, ok := adapter.As[adapter.Prober](a)
	if !ok {
		report.AuthState = adapter.AuthState{Status: adapter.AuthUnknown, Details: "the adapter cannot check logins"}
		return report
	}
	ctx, cancel := context.WithTimeout(ctx, authLimit)
	defer cancel()
	found := make(chan adapter.AuthState, 1) // a check that hangs sends its late answer here, unread
	go func() {
		state, err := call(func() adapter.AuthState { return p.DetectAuth(ctx, nonBlank(r.host)) })
		if err != nil {
			state = adapter.AuthState{Status: adapter.AuthUnknown, Details: "the login check " + err.Error()}
		}
		found <- state
	}()
	select {
	case report.AuthState = <-found:
		switch report.Status {
		case adapter.Authenticated, adapter.Unauthenticated, adapter.AuthExpired, adapter.AuthUnknown:
		default:
			report.Status = adapter.AuthUnknown
		}
	case <-ctx.Done():
		report.AuthState = adapter.AuthState{Status: adapter.AuthUnknown, Details: fmt.Sprintf("no answer: %v", cancelled(ctx))}
	}
	return report
}

// AuthGuidance explains how to log in to an agent. The error is CAPABILITY_ERROR if its adapter cannot explain
// it, or UNKNOWN_AGENT.
func (r *Registry) AuthGuidance(name string) (adapter.AuthGuidance, error) {
	rec, err := r.lookup(name)
	if err != nil {
		return adapter.AuthGuidance{}, err
	}
	a, err := rec.made()
	if err != nil {
		return adapter.AuthGuidance{}, err
	}
	g, ok := adapter.As[adapter.AuthGuide](a)
	if !ok {
		e := execution.Errorf(execution.CodeCapability, "agent %s: its adapter has no login instructions", rec.descriptor.Name)
		e.Agent = rec.descriptor.Name
		if rec.descriptor.Docs != "" {
			return adapter.AuthGuidance{}, e.WithHint("see %s", rec.descriptor.Docs)
		}
		return adapter.AuthGuidance{}, e
	}
	how, err := call(g.AuthGuidance)
	if err != nil {
		return adapter.AuthGuidance{}, execution.Errorf(execution.CodeInternal, "agent %s: guidance: %w", rec.descriptor.Name, err)
	}
	how.Agent = rec.descriptor.Name
	// Lists on the wire are never null, and the caller owns them.
	how.Steps, how.EnvVars, how.Documentation = append([]adapter.AuthStep{}, how.Steps...), append([]adapter.AuthVariable{}, how.EnvVars...), append([]string{}, how.Documentation...)
	return how, nil
}

// nonBlank returns the host with blank variables unset: a blank key is not a login.
func nonBlank(h adapter.Host) adapter.Host {
	getenv := h.Getenv
	h.Getenv = func(name string) string {
		value := getenv(name)
		if strings.TrimSpace(value) == "" {
			return ""
		}
		return value
	}
	return h
}
