package turnruntime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"path/filepath"
	"time"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/transport/httpcall"
)

// remoteAgent posts the turn to an agent's service, which answers with the turn's result.
type remoteAgent struct{ deps Deps }

// Check finds what keeps the turn from being sent.
func (r *remoteAgent) Check(d Dispatch) error {
	_, err := r.plan(d)
	return err
}

func (r *remoteAgent) plan(d Dispatch) (service, error) {
	if w := d.Role.WriteAuthority; w != protocol.ReviewOnly && w != protocol.Proposed {
		return service{}, configError("role %s is %s, but a remote agent reaches no files of the project", d.RoleID, w).
			WithHint("make the role review_only or proposed, or give it a runtime of type local_cli, agent or mcp")
	}
	return d.service()
}

// envelope is what the service gets (specification 001, "Request envelope").
type envelope struct {
	RunID       string `json:"run_id"`
	TurnID      string `json:"turn_id"`
	Role        string `json:"role"`
	Phase       string `json:"phase"`
	RuntimeID   string `json:"runtime_id"`
	DispatchDir string `json:"dispatch_dir"`
	Prompt      string `json:"prompt"`
	Context     string `json:"context"`
}

// remoteFault is api-error.json of a remote agent: why there is no result.
type remoteFault struct {
	Class      string `json:"error_class"`
	Message    string `json:"message"`
	HTTPStatus *int   `json:"http_status"`
	TimedOut   bool   `json:"timed_out"`
	Response   string `json:"raw_detail,omitempty"`
}

const (
	mostRemote = 500 // bytes of a refusal that are kept
	remoteLog  = "remote.log"
)

// Run sends the turn and stages the answer. It is never repeated.
func (r *remoteAgent) Run(ctx context.Context, d Dispatch, w Watch) (Outcome, error) {
	s, err := r.plan(d)
	if err != nil {
		return Outcome{}, err
	}
	if err := d.makeRoom(); err != nil {
		return Outcome{}, err
	}
	if err := d.clearAudit(); err != nil {
		return Outcome{}, err
	}
	log, err := openTranscript(d, remoteLog, s.redact, r.deps.Now)
	if err != nil {
		return Outcome{}, err
	}
	defer func() {
		if err := log.close(); err != nil {
			d.say("The log of turn %s is incomplete: %v", d.Turn.TurnID, err)
		}
	}()
	if d.Runtime.TimeoutMS == nil {
		d.Runtime.TimeoutMS = new(int(defaultRequest / time.Millisecond))
	}
	j := r.deps.job(d, w, s.shown(), govern.StageStarting)
	log.note("attempt %d: POST %s until %s", max(1, d.Turn.Attempt), s.shown(), j.limit.UTC().Format(time.RFC3339))
	for name, value := range d.Runtime.Headers.All() {
		log.note("header %s: %s", name, value) // the log knows its secrets
	}
	j.attached(0)
	defer j.beat(defaultStartup, log, nil)()
	ctx, _, stop := j.patient(ctx)
	defer stop()
	j.sign("request", j.now())
	data, fault, err := r.post(ctx, d, s)
	if err == nil {
		log.note("the service returned a result")
		return Outcome{Staged: true, Meta: j.latency(nil)}, d.put(redactJSON(s.redact, data))
	}
	log.note("%v", err)
	o := j.failed(ctx, ClassRemote, err, s.redact, filepath.Join(d.evidenceDir(), remoteLog))
	o.Meta = j.latency(o.Meta)
	fault.Class, fault.Message, fault.TimedOut = o.Class, s.redact.Text(err.Error()), o.Class == ClassTimeout
	if o.Cancelled {
		return o, nil
	}
	return o, writeJSON(filepath.Join(d.evidenceDir(), auditFault), fault, s.redact)
}

// post sends the envelope once and reads the result.
func (r *remoteAgent) post(ctx context.Context, d Dispatch, s service) (data []byte, f remoteFault, err error) {
	body, err := protocol.Marshal(envelope{d.Run, d.Turn.TurnID, d.RoleID, d.Phase, d.RuntimeID, d.BundleDir, d.Prompt, d.Context})
	if err != nil {
		return nil, f, err
	}
	h := s.header.Clone()
	h.Set("Content-Type", "application/json")
	if h.Get("Accept") == "" {
		h.Set("Accept", "application/json")
	}
	client := httpcall.New(r.deps.HTTP)
	if r.deps.HTTP == nil {
		defer client.Close()
	}
	res, err := client.Do(ctx, httpcall.Call{URL: s.url, Header: h, Body: body, Limit: mostStaged})
	if err != nil {
		return nil, f, fmt.Errorf("%s: %w", s.shown(), unhosted(err))
	}
	defer func() { _ = res.Body.Close() }()
	f.HTTPStatus = &res.Status
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, f, fmt.Errorf("%s: read the response: %w", s.shown(), unhosted(err))
	}
	f.Response = head(string(raw), mostRemote)
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case res.Status/100 != 2:
		return nil, f, fmt.Errorf("%s answered HTTP %d: %s", s.shown(), res.Status, head(string(raw), mostRemote))
	case kind != "application/json":
		return nil, f, fmt.Errorf("%s answered with content of type %q instead of application/json", s.shown(), res.Header.Get("Content-Type"))
	case !json.Valid(raw):
		return nil, f, fmt.Errorf("%s answered with content that is not JSON", s.shown())
	}
	if data, err = resultIn(string(raw)); err != nil {
		return nil, f, fmt.Errorf("the response of %s is not a turn result: %w", s.shown(), err)
	}
	return data, f, nil
}

// unhosted is the cause of a failed call: the address is already part of the message.
func unhosted(err error) error {
	if e := (*httpcall.Error)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}
