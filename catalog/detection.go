package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/version"
)

const (
	// detectionTTL is how long a finished detection stays valid.
	detectionTTL = 30 * time.Second
	// detectionLimit ends a detection even if the prober does not return. Real programs need up to 5 s when
	// cold, and more than 15 s where several start at once.
	detectionLimit = 30 * time.Second
	// detectionCleanup is the part of the limit left to a prober to stop what it started and report its partial
	// result.
	detectionCleanup = 500 * time.Millisecond
)

// InstalledInfo is the result of detecting an agent (agent-mux specification, InstalledAgentInfo). On the wire
// an empty CLIPath, Version or ActiveModel is null.
type InstalledInfo struct {
	Agent           string             `json:"agent"`
	Installed       bool               `json:"installed"`
	CLIPath         string             `json:"cliPath"`         // absolute; empty if not found
	Version         string             `json:"version"`         // empty if not installed or unreadable
	MeetsMinVersion bool               `json:"meetsMinVersion"` // false without a version, else true without a minimum
	MinVersion      string             `json:"minVersion"`      // empty for none
	WithinTested    bool               `json:"withinTested"`    // between the lowest and the highest tested version
	AuthState       adapter.AuthStatus `json:"authState"`
	AuthMethod      string             `json:"authMethod,omitempty"`
	AuthIdentity    string             `json:"authIdentity,omitempty"`
	AuthDetails     string             `json:"authDetails,omitempty"`
	ActiveModel     string             `json:"activeModel"` // empty if unknown
	Notes           string             `json:"notes,omitempty"`
}

// MarshalJSON writes null for unknown values.
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

// detection is one probe of one agent, shared by all concurrent callers and reused for detectionTTL.
type detection struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when info is final; info and at are immutable afterwards
	ended  chan struct{} // closed when the prober has returned

	// Guarded by Registry.mu until done is closed.
	info    InstalledInfo
	at      time.Time
	waiters int
	probe   *adapter.Installation // nil until known
	auth    *adapter.AuthState    // nil until known
}

// Detect reports whether an agent is installed, its version and whether it is logged in. It returns nil for
// an unknown agent. One that is refused, or that cannot be described, is not installed, and Notes has the reason. A failed detection is an answer with Installed false and the reason in Notes;
// the only error is that ctx is done first.
//
// An answer is at most 30 s old. Concurrent callers share one probe. It ends when all of them have given up,
// and after 30 s at the latest: what is unknown by then is left empty.
func (r *Registry) Detect(ctx context.Context, name string) (*InstalledInfo, error) {
	r.mu.Lock()
	rec := r.find(name)
	r.mu.Unlock()
	if rec == nil {
		var err error
		if rec, err = r.lookup(name); execution.CodeOf(err) == execution.CodeUnknownAgent {
			return nil, nil //nolint:nilerr // the answer for an unknown agent
		} else if err != nil {
			return &InstalledInfo{Agent: name, AuthState: adapter.AuthUnknown, Notes: clip(err.Error())}, nil
		}
	}
	info, err := r.detect(ctx, rec)
	if err != nil {
		return nil, err
	}
	return &info, nil
}

// Installed detects all listed agents (Listed) concurrently and returns the answers sorted by name. It never fails: an agent
// whose detection fails or does not complete before ctx is done has Installed false and the reason in Notes.
func (r *Registry) Installed(ctx context.Context) []InstalledInfo {
	found := map[string]InstalledInfo{}
	r.DetectEach(ctx, func(i InstalledInfo) { found[i.Agent] = i })
	list := make([]InstalledInfo, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		list = append(list, found[name])
	}
	return list
}

// DetectEach is Installed for a caller that wants each answer as soon as it is known. It calls fn once per
// agent, on the caller's goroutine, and returns after the last call.
func (r *Registry) DetectEach(ctx context.Context, fn func(InstalledInfo)) {
	records := r.records()
	external, _ := r.External()
	external = slices.DeleteFunc(external, func(i Info) bool {
		return slices.ContainsFunc(records, func(rec *record) bool { return rec.descriptor.Name == i.Agent })
	})
	ctx, cancel := context.WithCancel(ctx)
	answers := make(chan InstalledInfo, len(records)+len(external)) // room for every answer: no sender blocks
	var wg sync.WaitGroup
	defer wg.Wait() // after cancel, so that no goroutine remains if fn panics
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
	for _, i := range external {
		wg.Go(func() { answers <- r.detectExternal(ctx, i) })
	}
	for range cap(answers) {
		fn(<-answers)
	}
}

// detectExternal detects an agent that the Finder listed; its program may not be what it says.
func (r *Registry) detectExternal(ctx context.Context, i Info) InstalledInfo {
	info := InstalledInfo{Agent: i.Agent, CLIPath: i.Command, AuthState: adapter.AuthUnknown}
	rec, err := r.lookup(i.Agent)
	if err == nil {
		var found InstalledInfo
		if found, err = r.detect(ctx, rec); err == nil {
			return found
		}
	}
	info.Notes = clip(err.Error())
	return info
}

// Invalidate discards what is known of an agent's installation, so that the next Detect probes again, even
// while a probe runs. Call it after changing an installation. An unknown name is ignored.
func (r *Registry) Invalidate(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rec := r.find(name); rec != nil {
		rec.detection = nil
	}
}

// Drain waits until no probe is running, for an owner that must leave nothing running: a probe without callers
// is cancelled, but stops in its own time. The error is that ctx is done first.
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
	default: // a finished answer wins over a ctx that is also done
	}
	select {
	case <-d.done:
		return d.info, nil
	case <-ctx.Done():
		return InstalledInfo{}, fmt.Errorf("detect %s: %w", rec.descriptor.Name, cancelled(ctx))
	}
}

// join joins the current detection or starts one. It returns nil if there is none and ctx is already done.
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

// leave removes the caller from a detection. A probe without callers is cancelled and its answer discarded.
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

// stale reports whether the answer is too old. The answer of a prober that ignores its deadline stays until the
// prober returns, so that a hanging prober is not started repeatedly.
func (d *detection) stale() bool {
	return closed(d.done) && closed(d.ended) && time.Since(d.at) >= detectionTTL
}

// start runs a detection. The caller holds mu.
func (r *Registry) start(rec *record) *detection {
	// The probe belongs to all who share it, so no caller's context is its parent; leave cancels it.
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

// probe fills in d.probe. It does so in a defer, so that a prober that panics or ends its goroutine also gets
// an answer.
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

// lookCommand is the probe for an adapter without one.
func (r *Registry) lookCommand(command string) adapter.Installation {
	path, err := r.host.LookPath(command)
	if err != nil {
		return adapter.Installation{Notes: clip(err.Error())}
	}
	return adapter.Installation{Installed: true, Path: path, Notes: "the adapter has no probe, so the version is unknown"}
}

// auth fills in d.auth. On any failure the answer is unknown.
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

// publish builds the answer from what is known. Only the first call counts.
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
		// Agents print their name around it: only the version itself can be compared.
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

// cancelled returns an error that matches both ctx.Err and the cause of ctx.
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
