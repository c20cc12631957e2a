package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/internal/base/version"
)

const (
	// detectionTTL is how long a finished detection is taken as still true.
	detectionTTL = 30 * time.Second
	// detectionLimit is when a detection is over, whatever the prober does. Real programs need up to 5 s when cold.
	detectionLimit = 15 * time.Second
	// detectionCleanup of the limit is kept for a prober to stop what it started and say how far it came.
	detectionCleanup = 500 * time.Millisecond
)

// InstalledInfo is what detection found out about an agent (agent-mux specification, InstalledAgentInfo). On the wire
// an empty CLIPath, Version or ActiveModel is null.
type InstalledInfo struct {
	Agent           string             `json:"agent"`
	Installed       bool               `json:"installed"`
	CLIPath         string             `json:"cliPath"`         // absolute; empty when not found
	Version         string             `json:"version"`         // empty when not installed, or when it could not be read
	MeetsMinVersion bool               `json:"meetsMinVersion"` // false without a version, else true without a minimum
	MinVersion      string             `json:"minVersion"`      // empty for none
	WithinTested    bool               `json:"withinTested"`    // from the lowest to the highest version that is tested against
	AuthState       adapter.AuthStatus `json:"authState"`
	AuthMethod      string             `json:"authMethod,omitempty"`
	AuthIdentity    string             `json:"authIdentity,omitempty"`
	AuthDetails     string             `json:"authDetails,omitempty"`
	ActiveModel     string             `json:"activeModel"` // empty when it could not be determined
	Notes           string             `json:"notes,omitempty"`
}

// MarshalJSON writes null for what is not known.
func (i InstalledInfo) MarshalJSON() ([]byte, error) {
	type plain InstalledInfo
	null := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return json.Marshal(struct {
		plain
		CLIPath     *string `json:"cliPath"`
		Version     *string `json:"version"`
		ActiveModel *string `json:"activeModel"`
	}{plain(i), null(i.CLIPath), null(i.Version), null(i.ActiveModel)})
}

// detection is one look at one agent, shared by everybody who asks meanwhile and for detectionTTL after it.
type detection struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when info is final; info and at are immutable from then on
	ended  chan struct{} // closed when the prober has returned

	// Guarded by Registry.mu until done is closed.
	info    InstalledInfo
	at      time.Time
	waiters int
	probe   *adapter.Installation // nil until found
	auth    *adapter.AuthState    // nil until found
}

// Detect looks whether an agent is installed, which version it has and whether it is logged in. It is nil when there is
// no agent of that name. A detection that fails is an answer with Installed false and the reason in Notes; the only error
// is that ctx is done first.
//
// An answer is at most 30 s old. Concurrent callers share one probe, which ends when the last of them gives up and after
// 15 s at the latest: what is not known by then is left empty.
func (r *Registry) Detect(ctx context.Context, name string) (*InstalledInfo, error) {
	r.mu.Lock()
	rec := r.find(name)
	r.mu.Unlock()
	if rec == nil {
		return nil, nil
	}
	info, err := r.detect(ctx, rec)
	if err != nil {
		return nil, err
	}
	return &info, nil
}

// Installed detects all agents at once and returns when the last answer is there, sorted by name. It never fails: an
// agent whose detection fails, or for which ctx leaves no time, is one with Installed false and the reason in Notes.
func (r *Registry) Installed(ctx context.Context) []InstalledInfo {
	found := map[string]InstalledInfo{}
	r.DetectEach(ctx, func(i InstalledInfo) { found[i.Agent] = i })
	list := make([]InstalledInfo, 0, len(found))
	for _, name := range sortedKeys(found) {
		list = append(list, found[name])
	}
	return list
}

// DetectEach is Installed for a caller that wants each answer when it is there. It calls fn once per agent, on the
// caller's goroutine, and returns after the last call.
func (r *Registry) DetectEach(ctx context.Context, fn func(InstalledInfo)) {
	r.mu.Lock()
	records := make([]*record, 0, len(r.agents))
	for _, name := range sortedKeys(r.agents) {
		records = append(records, r.agents[name])
	}
	r.mu.Unlock()

	ctx, cancel := context.WithCancel(ctx)
	answers := make(chan InstalledInfo, len(records)) // as many as will ever be sent: nobody blocks
	var wg sync.WaitGroup
	defer wg.Wait() // after cancel, so that a panic of fn leaves nobody behind
	defer cancel()
	for _, rec := range records {
		wg.Go(func() {
			info, err := r.detect(ctx, rec)
			if err != nil {
				info = blank(rec.descriptor)
				info.Notes = clip(err.Error())
			}
			answers <- info
		})
	}
	for range records {
		fn(<-answers)
	}
}

// Invalidate forgets what is known of an agent's installation, so that the next Detect looks again, even while a probe
// runs. It is for callers that changed something. An unknown name is ignored.
func (r *Registry) Invalidate(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rec := r.find(name); rec != nil {
		rec.detection = nil
	}
}

// Drain waits until no probe runs any more, for an owner who must leave nothing behind: a probe whose callers all gave
// up is told to stop, but stops in its own time. The error is that ctx is done first.
func (r *Registry) Drain(ctx context.Context) error {
	for {
		var d *detection
		r.mu.Lock()
		for d = range r.running {
			break
		}
		r.mu.Unlock()
		if d == nil {
			return nil
		}
		select {
		case <-d.ended:
		case <-ctx.Done():
			return fmt.Errorf("wait for running detections: %w", cancelled(ctx))
		}
	}
}

func (r *Registry) detect(ctx context.Context, rec *record) (InstalledInfo, error) {
	d := r.join(ctx, rec)
	if d == nil {
		return InstalledInfo{}, fmt.Errorf("detect %s: %w", rec.descriptor.Name, cancelled(ctx))
	}
	defer r.leave(rec, d)
	select {
	case <-d.done:
		return d.info, nil
	default: // a finished answer wins over a ctx that is done as well
	}
	select {
	case <-d.done:
		return d.info, nil
	case <-ctx.Done():
		return InstalledInfo{}, fmt.Errorf("detect %s: %w", rec.descriptor.Name, cancelled(ctx))
	}
}

// join takes part in the current detection or starts one. It is nil when there is none and ctx is done already.
func (r *Registry) join(ctx context.Context, rec *record) *detection {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := rec.detection
	if d == nil || d.stale() {
		if ctx.Err() != nil {
			return nil
		}
		d = r.start(rec)
	}
	d.waiters++
	return d
}

// leave ends the caller's part. A probe that nobody waits for is told to stop, and its answer is not kept.
func (r *Registry) leave(rec *record, d *detection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d.waiters--
	if d.waiters > 0 || closed(d.done) {
		return
	}
	d.cancel()
	if rec.detection == d {
		rec.detection = nil
	}
}

// stale reports whether the answer is too old. That of a prober which ignores its deadline stays until it returns: a
// prober that hangs is not started again and again.
func (d *detection) stale() bool {
	return closed(d.done) && closed(d.ended) && time.Since(d.at) >= detectionTTL
}

// start runs a detection. The caller holds mu.
func (r *Registry) start(rec *record) *detection {
	// The probe belongs to all who share it, so no caller's context is its parent: leave cancels it.
	ctx, cancel := context.WithTimeout(context.Background(), detectionLimit-detectionCleanup)
	d := &detection{cancel: cancel, done: make(chan struct{}), ended: make(chan struct{})}
	rec.detection = d
	r.running[d] = struct{}{}
	limit := time.AfterFunc(detectionLimit, func() { r.publish(rec, d) })
	go func() {
		var wg sync.WaitGroup
		wg.Go(func() { r.probe(ctx, rec, d) })
		wg.Go(func() { r.auth(ctx, rec, d) })
		wg.Wait()
		limit.Stop()
		r.publish(rec, d)
		cancel()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.running, d)
		close(d.ended)
	}()
	return d
}

// probe fills d.probe. It does so from a defer, so that a prober that panics or ends its goroutine has an answer too.
func (r *Registry) probe(ctx context.Context, rec *record, d *detection) {
	found := adapter.Installation{Notes: "the probe ended without an answer"}
	defer func() {
		if p := recover(); p != nil {
			found = adapter.Installation{Notes: "the probe panicked: " + clip(fmt.Sprint(p))}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		d.probe = &found
	}()
	a, err := rec.made()
	if err != nil {
		found = adapter.Installation{Notes: clip(err.Error())}
		return
	}
	p, ok := adapter.As[adapter.Prober](a)
	if !ok {
		found = r.lookCommand(rec.descriptor.Command)
		return
	}
	i, err := p.Probe(ctx, r.host)
	if err != nil {
		note := clip(err.Error())
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			note = fmt.Sprintf("no answer within %v: %s", detectionLimit, note)
		}
		i.Installed, i.Notes = false, strings.Trim(i.Notes+"; "+note, "; ")
	}
	found = i
}

// lookCommand is the probe of an adapter that has none.
func (r *Registry) lookCommand(command string) adapter.Installation {
	path, err := r.host.LookPath(command)
	if err != nil {
		return adapter.Installation{Notes: clip(err.Error())}
	}
	return adapter.Installation{Installed: true, Path: path, Notes: "the adapter has no probe, so the version is unknown"}
}

// auth fills d.auth. Whatever goes wrong, the answer is unknown.
func (r *Registry) auth(ctx context.Context, rec *record, d *detection) {
	state := adapter.AuthState{Status: adapter.AuthUnknown, Details: "the login check ended without an answer"}
	defer func() {
		if p := recover(); p != nil {
			state = adapter.AuthState{Status: adapter.AuthUnknown, Details: "the login check panicked: " + clip(fmt.Sprint(p))}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		d.auth = &state
	}()
	a, err := rec.made()
	if err != nil {
		state = adapter.AuthState{Status: adapter.AuthUnknown}
		return
	}
	p, ok := adapter.As[adapter.Prober](a)
	if !ok {
		state = adapter.AuthState{Status: adapter.AuthUnknown}
		return
	}
	s := p.DetectAuth(ctx, nonBlank(r.host))
	switch s.Status {
	case adapter.Authenticated, adapter.Unauthenticated, adapter.AuthExpired, adapter.AuthUnknown:
	default:
		s.Status = adapter.AuthUnknown
	}
	state = s
}

// publish makes the answer of what is known by now. Only the first call counts.
func (r *Registry) publish(rec *record, d *detection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if closed(d.done) {
		return
	}
	late := fmt.Sprintf("no answer within %v", detectionLimit)
	probe, auth := d.probe, d.auth
	if probe == nil {
		probe = &adapter.Installation{Notes: late}
	}
	if auth == nil {
		auth = &adapter.AuthState{Status: adapter.AuthUnknown, Details: late}
	}
	d.info = combine(rec.descriptor, *probe, *auth)
	d.at = time.Now()
	close(d.done)
}

func combine(d adapter.Descriptor, probe adapter.Installation, auth adapter.AuthState) InstalledInfo {
	i := blank(d)
	i.Installed, i.CLIPath, i.ActiveModel, i.Notes = probe.Installed, probe.Path, probe.ActiveModel, probe.Notes
	i.AuthState, i.AuthMethod, i.AuthIdentity, i.AuthDetails = auth.Status, auth.Method, auth.Identity, auth.Details
	if !probe.Installed {
		return i
	}
	i.Version = probe.Version
	if _, err := version.Parse(i.Version); err != nil {
		// Agents print their name around it: the version alone is what can be compared.
		if v := version.Find(i.Version); v != "" {
			i.Version = v
		}
	}
	i.MeetsMinVersion = version.AtLeast(i.Version, d.MinVersion)
	i.WithinTested = version.Within(i.Version, d.TestedVersions)
	return i
}

func blank(d adapter.Descriptor) InstalledInfo {
	return InstalledInfo{Agent: d.Name, MinVersion: d.MinVersion, AuthState: adapter.AuthUnknown}
}

// cancelled matches what ctx.Err and what the cause of ctx match.
func cancelled(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
