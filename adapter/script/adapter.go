package script

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declarative"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

const (
	// Name is the adapter's name.
	Name  = "script"
	usage = "drawbar run script \"what to do\" -- SCRIPT [CONTEXT OUTPUT]"
)

func init() { adapter.Register(Descriptor) }

// Descriptor describes the adapter. Every call returns a fresh copy.
func Descriptor() adapter.Descriptor {
	return adapter.Descriptor{
		Name:        Name,
		DisplayName: "Adapter script",
		Install: []adapter.InstallMethod{{Platform: "all", Type: "manual",
			Notes: "name a script with the commands info, execute and health after --: " + usage}},
		New: func() adapter.Adapter { return New(cliagent.Options{}) },
	}
}

// Adapter runs adapter scripts. It is stateless and safe for concurrent use.
type Adapter struct{ cliagent.Embedded }

var _ adapter.Prober = Adapter{}

// New returns the adapter; zero options are for a normal program.
func New(opts cliagent.Options) Adapter {
	return Adapter{cliagent.Embedded{Adapter: cliagent.New(cliagent.Spec{
		Name:         Name,
		InstallHint:  "is it there, and executable? The script follows --",
		Capabilities: capabilities,
		Spawn:        spawn,
		NewParser: func(req execution.Request) cliagent.Parser {
			return &parser{OneShot: cliagent.OneShot(Name), req: req}
		},
	}, opts)}}
}

// spawn returns the command line. With three words the request names the directories; with one they are made: the message is the task, the
// conventions are those of the working directory, and its declared files are copied.
func spawn(l *cliagent.Launch) (cliagent.Invocation, error) {
	req := l.Request
	command := req.Run.Command
	p, ok := l.Parser.(*parser)
	if len(command) != 1 && len(command) != 3 || !ok {
		e := execution.Errorf(execution.CodeValidation, "run.command: a script is named by one word, or with its two directories")
		e.Agent = Name
		return cliagent.Invocation{}, e.WithHint(usage)
	}
	task := declarative.Message(req)
	p.scope = ScopeOf(task)
	var in, out string
	if len(command) == 3 {
		in, out = command[1], command[2]
	} else {
		in, out = filepath.Join(l.Dir, "context"), filepath.Join(l.Dir, "output")
		l.Folder("context/" + FilesDir)
		l.Folder("output/" + FilesDir)
		l.File("context/"+TaskFile, []byte(task))
		conventions, err := Conventions(req.Run.Cwd)
		if err != nil {
			return cliagent.Invocation{}, execution.Errorf(execution.CodeConfig, "%w", err)
		}
		l.File("context/"+ConventionsFile, conventions)
		l.File("context/"+DesignFile, nil)
		for _, name := range p.scope.Existing(cmp.Or(req.Run.Cwd, ".")) {
			content, err := os.ReadFile(filepath.Join(req.Run.Cwd, filepath.FromSlash(name)))
			if err != nil {
				return cliagent.Invocation{}, execution.Errorf(execution.CodeConfig, "copy %s for the script: %w", name, err)
			}
			l.Copy("context/"+FilesDir+"/"+name, content)
		}
	}
	p.output = out
	env := map[string]string{VarMaxTurns: strconv.Itoa(cmp.Or(req.Run.MaxTurns, UsualTurns)), VarTask: string(req.Run.RunID), VarFeature: ""}
	if req.Run.Model != "" {
		env[VarModel] = req.Run.Model
	}
	return cliagent.Invocation{Command: command[0], Args: []string{"execute", in, out}, Env: env}, nil
}

// Conventions returns the conventions of a project: its CLAUDE.md, or else its AGENTS.md; nil if it has neither.
func Conventions(dir string) ([]byte, error) {
	for _, name := range []string{"CLAUDE.md", "AGENTS.md"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return b[:min(len(b), maxText)], err
		}
	}
	return nil, nil
}

// parser waits for the end: the script's output is in files.
type parser struct {
	cliagent.OneShot
	req    execution.Request
	output string
	scope  Scope
	begun  bool
}

// Line does not interpret what the script prints.
func (p *parser) Line(src process.Stream, line []byte, s *cliagent.Sink) {
	p.begin(s)
	s.Unknown(src, line)
}

func (p *parser) begin(s *cliagent.Sink) {
	if !p.begun {
		p.begun = true
		s.Begin(p.req, execution.SessionStart{})
		s.Emit(execution.TurnStart{})
	}
}

// Exit reads the output directory and copies the files that the task declares.
func (p *parser) Exit(exit process.Exit, s *cliagent.Sink) execution.Result {
	if exit.Stopped || exit.Signal != "" || exit.Code < 0 {
		return execution.Result{}
	}
	p.begin(s)
	out, err := ReadOutput(p.output)
	if err == nil && exit.Code != 0 && out.Result == "" {
		return execution.Result{} // it stated nothing: a crash
	}
	failed := ""
	switch outside := p.scope.Outside(out.Files); {
	case err != nil:
		failed = "its output cannot be read: " + err.Error()
	case out.Verdict(exit.Code) != "":
		failed = out.Verdict(exit.Code)
		if last := strings.TrimSpace(cmp.Or(exit.StderrTail, out.Report)); last != "" {
			failed += ": " + last[max(0, len(last)-2000):]
		}
	case len(outside) > 0:
		failed = fmt.Sprintf("nothing was applied: the task does not declare %s", strings.Join(outside, ", "))
	default:
		if len(out.Files) > 0 {
			err = Apply(filepath.Join(p.output, FilesDir), cmp.Or(p.req.Run.Cwd, "."), out.Files)
		}
		if err != nil {
			failed = "nothing was applied: " + err.Error()
		}
	}
	res := execution.Result{Metadata: map[string]any{"script": map[string]any{"result": out.Result, "files": append([]string{}, out.Files...), "testOutput": out.Test}}}
	if failed != "" {
		f := &cliagent.Failure{Code: execution.CodeInternal, Message: failed, Final: true}
		s.Emit(f.Event())
		res.Error = f.Result()
		s.Emit(execution.TurnEnd{Reason: execution.TurnFailed, Error: res.Error})
		return res
	}
	res.Status = execution.StatusCompleted
	if out.Report != "" {
		s.Emit(execution.MessageStart{})
		s.Emit(execution.TextDelta{Delta: out.Report, Accumulated: out.Report})
		s.Emit(execution.MessageStop{Text: out.Report})
		res.Output = &execution.Output{Text: out.Report}
	}
	s.Emit(execution.TurnEnd{Reason: execution.TurnCompleted, Text: out.Report})
	return res
}

// Probe finds nothing, because every run names its script.
func (Adapter) Probe(context.Context, adapter.Host) (adapter.Installation, error) {
	return adapter.Installation{Installed: true, Notes: "runs the script that is named after --: " + usage}, nil
}

// DetectAuth reports unknown: whether the script's agent needs a login is not known.
func (Adapter) DetectAuth(context.Context, adapter.Host) adapter.AuthState {
	return adapter.AuthState{Status: adapter.AuthUnknown, Details: "unknown until the script runs"}
}

func capabilities() execution.Capabilities {
	return execution.Capabilities{
		Notes: []string{
			"the script gets task.md, conventions.md, design.md and copies of the declared files in a directory, and leaves completion-report.md, result, test-output.txt and files in another",
			"the answer is its completion report; exit code 0 and the result pass mean completed",
			"files that it leaves are copied into the working directory if a line **Files**: of the prompt declares them; otherwise it fails and nothing is copied",
			"nothing is known about its tools, sessions and costs, and it cannot ask",
		},
		Agent: execution.AgentCapabilities{
			TakesCommand:      true,
			MaxTurns:          true,
			ParallelExecution: true,
			ApprovalModes:     []execution.ApprovalMode{execution.ApprovalYolo},
			Verbs:             []execution.Verb{execution.VerbAbort},
		},
	}
}
