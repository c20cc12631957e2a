package turnruntime

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/internal/governed/prompt"
	"github.com/drawbar/drawbar/transport/process"
)

// The classes of services that fail.
const (
	ClassMCP    = "mcp_failure"
	ClassRemote = "remote_agent_failure"
)

// service is where a runtime's service is, and what every request to it carries.
type service struct {
	url    string
	header http.Header
	redact *secret.Redactor
}

// service checks the address and the headers of a runtime.
func (d Dispatch) service() (s service, err error) {
	at := "runtimes." + d.RuntimeID
	s = service{url: d.Runtime.URL, header: http.Header{}, redact: secret.New(secret.Environ(d.Environ))}
	u, err := url.Parse(s.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return s, configError("%s.url is not an absolute http or https address", at).WithHint("drawbar govern config set %s.url https://HOST/PATH", at)
	}
	s.redact.Add(secret.URL(s.url)...)
	for name, value := range d.Runtime.Headers.All() {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r) }) ||
			strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return s, configError("%s.headers: %q is not a valid header", at, name).WithHint("a name without spaces, and a value of one line")
		}
		s.header.Set(name, value)
		if secret.Name(name) { // among them authorization, x-api-key, cookie and proxy-authorization
			s.redact.Add(value)
			if _, token, ok := strings.Cut(value, " "); ok { // Bearer and Basic
				s.redact.Add(strings.TrimSpace(token))
			}
		}
		s.redact.Add(secret.Configured(name, value)...)
	}
	return s, nil
}

// shown is the address of a service for people.
func (s service) shown() string { return s.redact.Text(secret.MaskURL(s.url, secret.Mark)) }

// envelope is the turn as a tool or a custom adapter gets it (specification 001, "Required tool contract").
func (d Dispatch) envelope() map[string]any {
	in := func(name string) string { return filepath.Join(d.BundleDir, name) }
	return map[string]any{"run_id": d.Run, "turn_id": d.Turn.TurnID, "role": d.RoleID, "phase": d.Phase, "runtime_id": d.RuntimeID,
		"project_root": d.workDir(), "dispatch_dir": d.BundleDir, "assignment_path": in(prompt.AssignmentFile), "prompt_path": in(prompt.PromptFile),
		"context_path": in(prompt.ContextFile), "staging_path": d.StagedPath, "prompt": d.Prompt, "context": d.Context}
}

// patience ends a context when nothing happens for some time.
type patience struct {
	timer *time.Timer
	after time.Duration
}

// patient returns a context that ends with errTurnLimit after the time that the job has, counted from the last reset.
func (j *job) patient(ctx context.Context) (context.Context, *patience, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &patience{after: j.limit.Sub(j.begun)}
	p.timer = time.AfterFunc(p.after, func() { cancel(errTurnLimit) })
	return ctx, p, func() {
		p.timer.Stop()
		cancel(nil)
	}
}

func (p *patience) reset(j *job) {
	p.timer.Reset(p.after)
	j.change(func(g *govern.Progress) { g.Deadline = j.now().Add(p.after) })
}

// failed is the outcome of a service that gave no result. class is used unless its program did not start, or the time
// limit or the caller ended the work.
func (j *job) failed(ctx context.Context, class string, err error, redact *secret.Redactor, log string) Outcome {
	resume := "see " + j.d.shown(log) + ", then: drawbar govern step --resume"
	o := Outcome{Class: class, Detail: redact.Text(err.Error()), Hint: resume}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTurnLimit):
		o.Class, o.Detail = ClassTimeout, "no answer within "+govern.Took(j.limit.Sub(j.begun))+": "+o.Detail
		o.Hint = "give it more time: drawbar govern step --resume --timeout 40m"
	case cause != nil:
		return Outcome{Cancelled: true, Detail: "the caller stopped the turn", Hint: "drawbar govern step"}
	}
	if spawn := (*process.StartError)(nil); o.Class == class && errors.As(err, &spawn) {
		return j.d.notStarted(ctx, err)
	}
	return o
}
