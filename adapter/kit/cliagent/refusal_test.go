//go:build unix

package cliagent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	plain := filepath.Join(dir, "plain")
	for _, f := range []string{file, plain} {
		if err := os.WriteFile(f, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name    string
		spec    func(*Spec)
		req     func(*execution.Request)
		status  execution.Status
		code    execution.ErrorCode
		message string
		hint    string
	}{
		{name: "missing cwd", req: func(r *execution.Request) { r.Run.Cwd = filepath.Join(dir, "nowhere") },
			code: execution.CodeValidation, message: "run.cwd does not exist"},
		{name: "cwd is a file", req: func(r *execution.Request) { r.Run.Cwd = file },
			code: execution.CodeValidation, message: "run.cwd is not a directory"},
		{name: "cwd below a file", req: func(r *execution.Request) { r.Run.Cwd = file + "/x" },
			code: execution.CodeValidation, message: "run.cwd does not exist"},
		{name: "missing attachments", req: func(r *execution.Request) {
			r.Message.Attachments = []execution.Attachment{{FilePath: file}, {FilePath: file + "x"}, {FilePath: dir}}
		}, code: execution.CodeValidation, message: "message.attachments[1].filePath does not exist"},
		{name: "not installed", spec: func(s *Spec) { s.Command = "no-such-agent" },
			code: execution.CodeAgentNotInstalled, message: `"no-such-agent"`, hint: "npm install -g fake"},
		{name: "not executable", spec: func(s *Spec) { s.Command = plain }, code: execution.CodeSpawn, message: "not executable"},
		{name: "no such interpreter", spec: func(s *Spec) {
			script := filepath.Join(dir, "script")
			if err := os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o700); err != nil {
				t.Error(err)
			}
			s.Command = script
		}, code: execution.CodeSpawn, message: "start fake"},
		{name: "long argument", spec: func(s *Spec) {
			s.Spawn = func(*Launch) (Invocation, error) {
				return Invocation{Args: []string{"a", strings.Repeat("x", 128<<10)}}, nil
			}
		}, code: execution.CodeValidation, message: "argument 2", hint: "put the text into a file"},
		{name: "Spawn refuses", spec: func(s *Spec) {
			s.Spawn = func(*Launch) (Invocation, error) {
				return Invocation{}, &execution.Error{Code: execution.CodeCapability, Message: "no such model", Capability: "model"}
			}
		}, status: "unsupported", code: execution.CodeCapability, message: "no such model"},
		{name: "Spawn fails", spec: func(s *Spec) {
			s.Spawn = func(*Launch) (Invocation, error) { return Invocation{}, errors.New("odd") }
		}, code: execution.CodeSpawn, message: "command line of fake: odd"},
		{name: "tools without a host", req: func(r *execution.Request) { r.Tools = []execution.Tool{{Name: "x"}} },
			status: "unsupported", code: execution.CodeCapability, message: "handles no tool calls"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec, req := fakeSpec(t, "simple"), request()
			if tt.spec != nil {
				tt.spec(&spec)
			}
			if tt.req != nil {
				tt.req(&req)
			}
			if tt.status == "" {
				tt.status = "failed"
			}
			o := execute(t, t.Context(), New(spec, Options{}), req, closedInbox(), nil)
			e := o.result.Error
			hint, _ := e.Metadata["hint"].(string)
			if o.result.Status != tt.status || e.ErrorCode() != tt.code || !strings.Contains(e.Message, tt.message) || !strings.Contains(hint, tt.hint) {
				t.Errorf("got %s %+v", o.result.Status, e)
			}
		})
	}
}

func TestEndedBeforeTheStart(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(context.DeadlineExceeded)
	spec := fakeSpec(t, "simple")
	spec.Spawn = func(*Launch) (Invocation, error) { t.Error("Spawn was called"); return Invocation{}, nil }
	o := execute(t, ctx, New(spec, Options{}), request(), closedInbox(), nil)
	if o.result.ExitReason != execution.ExitByTimeout || o.result.Error.Code != execution.FailureTimeout {
		t.Errorf("%+v", o.result)
	}
}
