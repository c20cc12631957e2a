// Package phasehook runs the hooks of a governed project: programs and HTTP services that are notified at certain
// points of a run and may object. It protects the files of the record from them, and writes an audit line for each.
package phasehook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/transport/process"
)

// Runner runs the hooks of one project. It is safe for concurrent use, but two concurrent calls on one project
// each mistake the other's changes of protected files for tampering.
type Runner struct {
	Root    string   // of the project, absolute
	Environ []string // of this process; inherited by hooks
	Now     func() time.Time
	Start   process.Runner    // nil is process.Launch
	HTTP    http.RoundTripper // nil is the default transport
	// Audit and Notes are the files of audit lines and of annotations on accepted turns, relative to the root; empty for those of a project.
	Audit, Notes string
	// Out receives lines for the person: warnings of hooks; nil discards them.
	Out func(string)
}

// Call is the input of hooks.
type Call struct {
	RunID, TurnID string
	Payload       any
	// Protected are additional files that hooks must not change, relative to the root with slashes: those of
	// the bundle.
	Protected []string
}

// Codes of outcomes.
const (
	CodeBlocked       = "hook_blocked"
	CodeStateTamper   = "hook_state_tamper"
	CodeHistoryTamper = "hook_history_tamper"
	CodeLedgerTamper  = "hook_ledger_tamper"
	CodeBundleTamper  = "hook_bundle_tamper"
)

// Outcome is the outcome of a phase's hooks. OK means that the run continues. Blocked is a hook's objection; with
// neither, a hook tampered with a protected file, which was restored.
type Outcome struct {
	OK, Blocked bool
	Code        string // one of the codes; empty with OK
	Hook        string // that objected or tampered
	File        string // that was tampered with
	Message     string
	Entries     []AuditEntry
	Annotations []AnnotationEntry
}

// AuditEntry is a line of hook-audit.jsonl.
type AuditEntry struct {
	Timestamp     protocol.Time `json:"timestamp"`
	HookPhase     string        `json:"hook_phase"`
	HookName      string        `json:"hook_name"`
	Transport     string        `json:"transport,omitempty"` // process or http; empty for a skipped hook
	RunID         string        `json:"run_id"`
	TurnID        *string       `json:"turn_id"`
	DurationMS    int64         `json:"duration_ms"`
	Verdict       *string       `json:"verdict"` // allow, warn or block; nil when tampered or skipped
	Message       *string       `json:"message"`
	Annotations   []Annotation  `json:"annotations"`
	ExitCode      *int          `json:"exit_code"`
	HTTPStatus    int           `json:"http_status,omitempty"`
	TimedOut      bool          `json:"timed_out"`
	StderrExcerpt string        `json:"stderr_excerpt"`
	Action        Action        `json:"orchestrator_action"`
}

// Annotation is a hook's note on a turn.
type Annotation struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// AnnotationEntry is a line of hook-annotations.jsonl.
type AnnotationEntry struct {
	Timestamp   protocol.Time `json:"timestamp"`
	RunID       string        `json:"run_id,omitempty"`
	TurnID      *string       `json:"turn_id"`
	HookPhase   string        `json:"hook_phase,omitempty"`
	HookName    string        `json:"hook_name"`
	Annotations []Annotation  `json:"annotations"`
}

// Action is the consequence of a hook's answer.
type Action string

// The actions.
const (
	Continued            Action = "continued"
	Warned               Action = "warned"
	Blocked              Action = "blocked"
	Downgraded           Action = "downgraded_block_to_warn"
	BlockedTimeout       Action = "blocked_timeout"
	WarnedTimeout        Action = "warned_timeout"
	BlockedFailure       Action = "blocked_failure"
	WarnedFailure        Action = "warned_failure"
	BlockedInvalidOutput Action = "blocked_invalid_output"
	WarnedInvalidOutput  Action = "warned_invalid_output"
	AbortedTamper        Action = "aborted_tamper"
	Skipped              Action = "skipped"
)

// The verdicts of hooks.
const (
	allow = "allow"
	warn  = "warn"
	block = "block"
)

// advisoryOnly are the phases in which an objection is too late.
var advisoryOnly = []string{protocol.HookAfterAcceptance, protocol.HookOnEscalation}

// envelope is the JSON that a hook reads.
type envelope struct {
	HookPhase   string        `json:"hook_phase"`
	HookName    string        `json:"hook_name"`
	RunID       string        `json:"run_id"`
	ProjectRoot string        `json:"project_root"`
	Timestamp   protocol.Time `json:"timestamp"`
	Payload     any           `json:"payload"`
}

// Run runs the hooks of a phase in order. The error is about this machine: the audit cannot be written, a
// protected file cannot be read or restored, a payload is not JSON, or ctx has ended. The phase must then not
// continue.
func (r *Runner) Run(ctx context.Context, phase string, hooks []protocol.Hook, c Call) (Outcome, error) {
	if !slices.Contains(protocol.HookPhases(), phase) {
		return Outcome{}, fmt.Errorf("run hooks: unknown hook phase %q", phase)
	}
	out := Outcome{OK: true}
	for i, h := range hooks {
		if err := ctx.Err(); err != nil {
			return out, fmt.Errorf("run the hooks of %s: %w", phase, err)
		}
		done, err := r.one(ctx, phase, h, c, &out)
		if err != nil {
			out.OK = false
			return out, err
		}
		if !done {
			continue
		}
		if out.Blocked {
			for _, later := range hooks[i+1:] {
				e := r.entry(phase, later, c)
				e.Transport, e.Action = "", Skipped
				e.Message = new(fmt.Sprintf("Skipped: prior hook %q blocked", h.Name))
				if err := r.audit(&out, e); err != nil {
					return out, err
				}
			}
		}
		return out, nil
	}
	return out, nil
}

// Check returns what would keep hooks from running: a program that is not installed, a variable that is not set. It
// starts nothing.
func (r *Runner) Check(phase string, hooks []protocol.Hook) []error {
	var faults []error
	for _, h := range hooks {
		at := "hooks." + phase + "." + h.Name
		if h.Type == "http" {
			if _, err := r.headers(h, nil); err != nil {
				faults = append(faults, fmt.Errorf("%s: %w; export it, or set it in the hook's env", at, err))
			}
			continue
		}
		if _, err := r.program(h, r.environ(phase, h, Call{})); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w; install it, or remove the hook from %s", at, err, protocol.ConfigFile))
		}
	}
	return faults
}

// one runs a hook and judges it; done ends the phase.
func (r *Runner) one(ctx context.Context, phase string, h protocol.Hook, c Call, out *Outcome) (done bool, err error) {
	before, err := snapshotOf(r.Root, c.Protected)
	if err != nil {
		return true, err
	}
	e := r.entry(phase, h, c)
	input, err := json.Marshal(envelope{phase, h.Name, c.RunID, r.Root, e.Timestamp, c.Payload})
	if err != nil {
		return true, fmt.Errorf("call hook %s of %s: %w", h.Name, phase, err)
	}
	ran := r.execute(ctx, phase, h, c, input)
	e.Timestamp = protocol.At(r.now())
	e.DurationMS, e.ExitCode, e.HTTPStatus, e.TimedOut = ran.duration.Milliseconds(), ran.exitCode, ran.status, ran.timedOut
	e.StderrExcerpt = cut(ran.redact.Text(ran.stderr), mostStderr)
	file, err := before.restore()
	if err != nil {
		return true, fmt.Errorf("hook %s of %s changed protected files: %w", h.Name, phase, err)
	}
	if file != "" {
		e.Action, out.OK, out.Hook, out.File, out.Code = AbortedTamper, false, h.Name, file, tamperCode(file)
		out.Message = fmt.Sprintf("hook %q changed the protected file %s; its content was restored", h.Name, file)
		e.Message = &out.Message
		return true, r.audit(out, e)
	}
	if err := ctx.Err(); err != nil {
		return true, fmt.Errorf("hook %s of %s was stopped: %w", h.Name, phase, err)
	}
	blocking := h.Mode == "blocking" && !slices.Contains(advisoryOnly, phase)
	v := judge(h, ran, blocking)
	v.message = ran.redact.Text(v.message)
	for i := range v.annotations {
		v.annotations[i].Value = ran.redact.Text(v.annotations[i].Value)
	}
	e.Verdict, e.Action, e.Annotations = &v.verdict, v.action, v.annotations
	if v.message != "" {
		e.Message = &v.message
	}
	if err := r.audit(out, e); err != nil {
		return true, err
	}
	if err := r.annotate(out, e); err != nil {
		return true, err
	}
	if v.verdict == block {
		out.OK, out.Blocked, out.Code, out.Hook = false, true, CodeBlocked, h.Name
		out.Message = v.message
		if out.Message == "" {
			out.Message = fmt.Sprintf("hook %q objects without a reason", h.Name)
		}
		return true, nil
	}
	if v.verdict == warn && r.Out != nil {
		text := v.message
		if text == "" {
			text = "no reason given"
		}
		r.Out(fmt.Sprintf("Hook %s (%s) warns: %s", h.Name, phase, text))
	}
	return false, nil
}

// entry returns the beginning of an audit line.
func (r *Runner) entry(phase string, h protocol.Hook, c Call) AuditEntry {
	e := AuditEntry{Timestamp: protocol.At(r.now()), HookPhase: phase, HookName: h.Name, Transport: h.Type, RunID: c.RunID, Annotations: []Annotation{}}
	if e.Transport == "" {
		e.Transport = "process"
	}
	if c.TurnID != "" {
		e.TurnID = &c.TurnID
	}
	return e
}

func (r *Runner) now() time.Time {
	if r.Now == nil {
		return time.Now()
	}
	return r.Now()
}

func (r *Runner) redactor() *secret.Redactor { return secret.New(secret.Environ(r.Environ)) }
