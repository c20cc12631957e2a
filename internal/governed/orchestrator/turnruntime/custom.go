package turnruntime

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/transport/process"
)

// ClassAdapter is a custom adapter that failed, or that wrote what it must not.
const ClassAdapter = "adapter_failure"

// adapterLog is the evidence: what the adapter prints, and what Drawbar asked it.
const adapterLog = "adapter.log"

// bridge runs the class of a JavaScript module. It is an argument of node, so that no file of it can be changed.
//
//go:embed bridge.mjs
var bridge string

// custom is an adapter of the project: a JavaScript module in Node, or a program. It is asked in three phases.
type custom struct{ deps Deps }

// Check prepares the adapter's command and finds its module. Nothing is started.
func (c *custom) Check(d Dispatch) error {
	_, _, err := c.plan(d)
	return err
}

// plan returns the command, and the path of the module if there is one.
func (c *custom) plan(d Dispatch) (p plan, module string, err error) {
	a, at := d.Runtime.Adapter, d.place()
	d.Runtime.PromptTransport = protocol.TransportBundleOnly // the prompt is part of the bundle
	p, err = d.plan()
	if a.Module == "" {
		return p, "", err
	}
	if execution.CodeOf(err) == execution.CodeAgentNotInstalled {
		return p, "", execution.Errorf(execution.CodeAgentNotInstalled, "%s.module needs Node: %v", at, err).
			WithHint("install Node 20.6 or later (https://nodejs.org), then: drawbar govern doctor")
	}
	if err != nil {
		return p, "", err
	}
	module = filepath.Join(d.workDir(), filepath.FromSlash(a.Module))
	hint := fmt.Sprintf("correct it: drawbar govern config set %s.module ./adapters/FILE.js", at)
	real, err := filepath.EvalSymlinks(module)
	if err != nil {
		return p, "", configError("%s.module: %v", at, err).WithHint("%s", hint)
	}
	root, err := filepath.EvalSymlinks(d.workDir())
	if err != nil {
		return p, "", configError("the project's folder: %v", err).WithHint("%s", hint)
	}
	if rel, err := filepath.Rel(root, real); err != nil || !filepath.IsLocal(rel) {
		return p, "", configError("%s.module: %s is outside %s", at, a.Module, d.workDir()).WithHint("%s", hint)
	}
	if info, err := os.Stat(real); err != nil || !info.Mode().IsRegular() {
		return p, "", configError("%s.module: %s is not a file", at, a.Module).WithHint("%s", hint)
	}
	p.args = []string{"--input-type=module", "--eval", bridge}
	return p, module, nil
}

// Run starts the adapter, asks it in each phase, and stages what it collected.
func (c *custom) Run(ctx context.Context, d Dispatch, w Watch) (Outcome, error) {
	p, module, err := c.plan(d)
	if err != nil {
		return Outcome{}, err
	}
	if err := d.makeRoom(); err != nil {
		return Outcome{}, err
	}
	log, err := openTranscript(d, adapterLog, p.redact, c.deps.Now)
	if err != nil {
		return Outcome{}, err
	}
	defer func() {
		if err := log.close(); err != nil {
			d.say("The log of turn %s is incomplete: %v", d.Turn.TurnID, err)
		}
	}()
	before, err := d.guarded()
	if err != nil {
		return Outcome{}, localError("protect the record from the adapter", err)
	}
	j := c.deps.job(d, w, d.Runtime.Type, govern.StageStarting)
	log.note("attempt %d: adapter %s, %q, until %s", max(1, d.Turn.Attempt), d.Runtime.Type, p.redact.Args(d.Runtime.Command.List), j.limit.UTC().Format(time.RFC3339))
	defer j.beat(defaultStartup, log, nil)()
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(j.limit.Sub(j.begun), func() { cancel(errTurnLimit) })
	defer timer.Stop()
	data, err := c.ask(limited, j, log, p, module)
	if err == nil && data == nil && !d.look().present {
		err = fmt.Errorf("collect of the adapter %s returned nothing, and there is no result in %s", d.Runtime.Type, d.shown(d.StagedPath))
	}
	wrote, guardErr := d.wrote(before)
	switch {
	case guardErr != nil:
		err = errors.Join(err, fmt.Errorf("check what the adapter changed: %w", guardErr))
	case len(wrote) > 0:
		err = fmt.Errorf("the adapter %s changed %s, but may write only to %s: undo the change", d.Runtime.Type, strings.Join(wrote, ", "), d.shown(filepath.Dir(d.StagedPath)))
		if err := d.makeRoom(); err != nil { // a result that the adapter wrote is evidence now
			return Outcome{}, err
		}
	}
	if err == nil {
		log.note("the adapter collected a result")
		o := Outcome{Staged: true, Meta: j.latency(nil)}
		if data == nil {
			return o, nil
		}
		return o, d.put(redactJSON(p.redact, data))
	}
	log.note("%v", err)
	o := j.failed(limited, ClassAdapter, err, p.redact, filepath.Join(d.evidenceDir(), adapterLog))
	o.Meta = j.latency(o.Meta)
	return o, nil
}

// ask starts the adapter and leads it through its phases. Its processes have ended when ask returns. The data is nil if
// the adapter wrote the staged file itself.
func (c *custom) ask(ctx context.Context, j *job, log *transcript, p plan, module string) (data []byte, err error) {
	d := j.d
	h, err := c.deps.Start(ctx, process.Spec{Path: p.program, Args: p.args, Dir: p.dir, Env: p.env, KeepStdin: true, Grace: d.grace(),
		MaxLine: mostStaged + 64<<10, Run: ProcessName(d.Root, d.Turn.TurnID)})
	if err != nil {
		return nil, err
	}
	j.attached(h.PID())
	t := newAdapterTalk(h, j, log)
	defer func() {
		exit := t.end(d.grace())
		log.note("ended: %s", describe(exit))
		if errors.Is(err, errAdapterEnded) && context.Cause(ctx) == nil {
			err = fmt.Errorf("%w (%s)", err, describe(exit))
			if tail := lastLine(exit.StderrTail); tail != "" {
				err = fmt.Errorf("%w: %s", err, tail)
			}
		}
	}()
	if module != "" {
		if _, err := t.call(ctx, "load", map[string]any{"module": module, "name": d.Runtime.Type}); err != nil {
			return nil, err
		}
	}
	bundle := d.envelope()
	bundle["attempt"] = max(1, d.Turn.Attempt)
	if len(d.Runtime.AdapterConfig) > 0 {
		bundle["adapter_config"] = d.Runtime.AdapterConfig
	}
	if _, err := t.call(ctx, "dispatch", map[string]any{"bundle": bundle}); err != nil {
		return nil, err
	}
	left := max(1, j.limit.Sub(c.deps.Now()).Milliseconds())
	answer, err := t.call(ctx, "wait", map[string]any{"turn_id": d.Turn.TurnID, "timeout_ms": left})
	if err != nil {
		return nil, err
	}
	raw, err := waited(d.Runtime.Type, answer)
	if err != nil {
		return nil, err
	}
	if answer, err = t.call(ctx, "collect", map[string]any{"turn_id": d.Turn.TurnID, "data": raw}); err != nil || !protocol.Is(answer) {
		return nil, err
	}
	if data, err = resultIn(string(answer)); err != nil {
		return nil, fmt.Errorf("what collect of the adapter %s returned is not a turn result: %w", d.Runtime.Type, err)
	}
	if len(data) > mostStaged {
		return nil, fmt.Errorf("the result of the adapter %s has %d bytes, more than the limit of %d", d.Runtime.Type, len(data), mostStaged)
	}
	return data, nil
}

// waited is the data that wait returned.
func waited(name string, answer json.RawMessage) (json.RawMessage, error) {
	var w struct {
		Status string          `json:"status"`
		Data   json.RawMessage `json:"data"`
	}
	if json.Unmarshal(answer, &w) != nil || w.Status != "completed" && w.Status != "failed" {
		return nil, fmt.Errorf("wait of the adapter %s returned %s, not {status: \"completed\" or \"failed\", data}", name, head(cmp.Or(string(answer), "nothing"), 200))
	}
	if w.Status == "failed" {
		return nil, fmt.Errorf("wait of the adapter %s reports that the work failed: %s", name, reason(w.Data))
	}
	if len(w.Data) == 0 {
		return json.RawMessage("null"), nil
	}
	return w.Data, nil
}

// reason is what data of an adapter says about a failure: its text, or its message.
func reason(data json.RawMessage) string {
	var text string
	var object struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(data, &text) // either, or neither
	_ = json.Unmarshal(data, &object)
	return head(strings.Join(strings.Fields(cmp.Or(text, object.Message, string(bytes.TrimSpace(data)), "it does not say why")), " "), 500)
}
