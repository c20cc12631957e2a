// Package demo is "drawbar demo": a run and a governed run in a temporary directory. The model's answers are scripted, and the
// agent is a stand-in that uses the format of a vendor's agent; everything else is real.
package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/modelserver"
)

// New returns the command.
func New(app *cli.App) *cobra.Command {
	var keep, ask bool
	cmd := &cobra.Command{
		Use:  "demo",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := newStage(app, keep, ask)
			if err != nil {
				return err
			}
			return errors.Join(d.play(cmd.Context()), d.close())
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the demo's directory")
	cmd.Flags().BoolVar(&ask, "ask", false, "ask you for permission instead of answering automatically")
	return cmd
}

// limit is the time limit of a run in the demo.
const limit = 5 * time.Minute

// stage is the demo's directory: a repository, a home, a record, and the stand-in under the vendor's name.
type stage struct {
	app       *cli.App
	dir, repo string
	bin, home string
	keep, ask bool
	subject   subject
}

func newStage(app *cli.App, keep, ask bool) (*stage, error) {
	dir, err := os.MkdirTemp("", "drawbar-demo-*")
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil { // the agent reports real paths
		return nil, err
	}
	s := &stage{app: app, dir: dir, repo: filepath.Join(dir, "repo"), bin: filepath.Join(dir, "bin"), home: filepath.Join(dir, "home"), keep: keep, ask: ask}
	s.subject = chooseSubject()
	for _, d := range []string{s.repo, s.bin, s.home} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	for name, text := range s.subject.files {
		if err := os.WriteFile(filepath.Join(s.repo, name), []byte(text), 0o600); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

func (s *stage) close() error {
	if s.keep {
		s.app.Notef("the demo's directory is %s", s.dir)
		return nil
	}
	return os.RemoveAll(s.dir)
}

// subject is a small program whose test fails, and its fix.
type subject struct {
	files   map[string]string
	test    string // command that runs the test
	file    string
	old, to string

	governed double
}

func chooseSubject() subject {
	const prompt = "a - b"
	if _, err := oshost.New(nil).LookPath("go"); err == nil || runtime.GOOS == "windows" {
		return subject{
			files: map[string]string{
				"go.mod":      "module calc\n\ngo 1.21\n",
				"add.go":      "package calc\n\n// Add is the sum of two numbers.\nfunc Add(a, b int) int {\n\treturn " + prompt + "\n}\n",
				"add_test.go": "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif got := Add(2, 3); got != 5 {\n\t\tt.Errorf(\"Add(2, 3) = %d, want 5\", got)\n\t}\n}\n",
			},
			test: "go test ./...", file: "add.go", old: "return a - b", to: "return a + b", governed: goDouble,
		}
	}
	return subject{
		files: map[string]string{
			"add.sh":  "# add is the sum of two numbers.\nadd() {\n\techo $(($1 - $2))\n}\n",
			"test.sh": ". ./add.sh\ngot=$(add 2 3)\n[ \"$got\" = 5 ] || { echo \"add 2 3 = $got, want 5\"; exit 1; }\necho ok\n",
		},
		test: "sh test.sh", file: "add.sh", old: "$1 - $2", to: "$1 + $2", governed: shellDouble,
	}
}

// script returns the model's script.
func (s *stage) script() string {
	path := filepath.Join(s.repo, s.subject.file)
	return fmt.Sprintf(`{"defaults":{"usage":{"input":1800,"output":120}},"turns":[
  {"text":"I will run the test first.","chunks":4,"chunkDelayMs":40,"tools":[{"name":"Bash","input":{"command":%[1]q,"description":"Run the test"}}]},
  {"text":"It fails. Let me look at the code.","chunks":5,"chunkDelayMs":40,"tools":[{"name":"Read","input":{"file_path":%[2]q}}]},
  {"text":"The function subtracts. I will fix that.","chunks":5,"chunkDelayMs":40,"tools":[{"name":"Edit","input":{"file_path":%[2]q,"old_string":%[3]q,"new_string":%[4]q}}]},
  {"text":"Now the test again.","chunks":3,"chunkDelayMs":40,"tools":[{"name":"Bash","input":{"command":%[1]q,"description":"Run the test"}}]},
  {"text":"The test passes: the function subtracted where it should add.","chunks":6,"chunkDelayMs":40}
]}`, s.subject.test, path, s.subject.old, s.subject.to)
}

// play runs the demo.
func (s *stage) play(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	parsed, err := modelserver.Parse([]byte(s.script()))
	if err != nil {
		return fmt.Errorf("the demo's script: %w", err)
	}
	model, err := modelserver.New(parsed, modelserver.Options{}).Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	if err := s.installAgent(); err != nil {
		return err
	}
	git := s.repository(ctx, s.repo, "a failing test")
	s.app.Notef("A repository with a failing test: %s", s.repo)
	s.app.Notef("Scripted: the model's answers. Simulated: the agent, which is Drawbar's own and speaks Claude Code's format.")
	s.app.Notef("Real: the process, the protocol, the permission question, the files, the test, the record.")
	s.app.Notef("")
	s.app.Notef("$ drawbar run claude \"the test fails, please fix it\"")

	client, err := drawbar.New(drawbar.Options{StateDir: filepath.Join(s.dir, "state")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	res, err := s.runAgent(ctx, client, model.URL())
	if err != nil {
		return err
	}
	if res.Status != execution.StatusCompleted {
		return &exitcode.Error{Code: max(exitcode.OfResult(res), 1), Silent: true}
	}
	if err := s.proof(ctx, git, res); err != nil {
		return err
	}
	err = s.governed(ctx, client)
	if errors.Is(err, errNotApproved) {
		s.app.Notef("Not approved: the run waits until a person approves or declines it.")
		return nil
	}
	return err
}

// agentEnv returns the environment in which the stand-in is found under the vendor's name and calls the scripted model.
func (s *stage) agentEnv(client *drawbar.Client, modelURL string) (map[string]string, error) {
	entry, err := client.Adapters().Get("claude")
	if err != nil {
		return nil, err
	}
	env := map[string]string{}
	if r, ok := adapter.As[adapter.ModelRedirector](entry.Adapter); ok {
		maps.Copy(env, r.RedirectModel(modelURL, s.home).Env)
	}
	env["PATH"] = s.bin + string(os.PathListSeparator) + s.app.Getenv("PATH")
	env[marker] = "1"
	for _, k := range []string{"HOME", "GOCACHE", "GOPATH", "GOMODCACHE"} {
		delete(env, k) // the test uses the machine's Go and its caches
	}
	return env, nil
}

func (s *stage) runAgent(ctx context.Context, client *drawbar.Client, modelURL string) (execution.Result, error) {
	render := cli.NewRenderer(s.app, false, nil)
	env, err := s.agentEnv(client, modelURL)
	if err != nil {
		return execution.Result{}, err
	}
	req := execution.Request{Message: execution.Message{Text: "the test fails, please fix it"},
		Run: execution.RunOptions{Agent: "claude", Cwd: s.repo, Env: env, ApprovalMode: execution.ApprovalPrompt, TimeoutMs: limit.Milliseconds()}}
	var opts drawbar.RunOptions
	questions := cli.NewQuestions(s.app, nil)
	opts.OnApproval = func(ctx context.Context, q execution.ApprovalRequired) execution.Decision {
		return s.approve(ctx, questions, q)
	}
	run, err := client.Run(ctx, req, opts)
	if err != nil {
		return execution.Result{}, err
	}
	for e, err := range run.Events(context.WithoutCancel(ctx), 0) {
		if err != nil {
			return execution.Result{}, err
		}
		if s.app.JSON {
			if err := s.app.Line(e); err != nil {
				return execution.Result{}, err
			}
			continue
		}
		if id := cli.QuestionID(e.Body); s.ask && cli.Pending(run, id) {
			questions.GiveWay(id, render, run)
			continue
		}
		render.Event(e)
	}
	return run.Result(context.WithoutCancel(ctx))
}

// approve answers the permission question: with the person's answer if --ask is given, otherwise with yes.
func (s *stage) approve(ctx context.Context, questions *cli.Questions, q execution.ApprovalRequired) execution.Decision {
	if s.ask {
		return questions.Approve(ctx, q)
	}
	return execution.Decision{Approve: true, Reason: "answered by the demo; ask me with --ask"}
}

// proof runs the test, and prints the changes and the next command.
func (s *stage) proof(ctx context.Context, git bool, res execution.Result) error {
	fields := strings.Fields(s.subject.test)
	out, err := cliagent.Spawn(ctx, adapter.SpawnRequest{Command: fields[0], Args: fields[1:], Cwd: s.repo})
	if err != nil {
		return fmt.Errorf("run the test: %w", err)
	}
	if out.Code != 0 {
		return execution.Errorf(execution.CodeInvalidOutput, "the test still fails: %s%s", out.Stdout, out.Stderr)
	}
	s.app.Notef("")
	s.app.Notef("The demo runs the test once more: %s", strings.TrimSpace(out.Stdout))
	if git {
		diff, err := cliagent.Spawn(ctx, adapter.SpawnRequest{Command: "git", Args: []string{"--no-pager", "diff", "--no-color"}, Cwd: s.repo, Env: gitEnv})
		if err != nil {
			return err
		}
		s.app.Notef("What changed:\n%s", strings.TrimRight(diff.Stdout, "\n"))
	}
	s.app.Notef("")
	s.app.Notef("%d tool calls in %d ms; the price comes from the script: %s.", res.Trace.Summary.ToolCallCount, res.DurationMs, cli.Money(res.Cost))
	s.app.Notef("Next: drawbar agents detect, then: drawbar run claude \"explain this repository\"")
	return nil
}

var gitEnv = map[string]string{"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
	"GIT_AUTHOR_NAME": "demo", "GIT_AUTHOR_EMAIL": "demo@localhost", "GIT_COMMITTER_NAME": "demo", "GIT_COMMITTER_EMAIL": "demo@localhost"}

// repository turns a directory into a git repository. It returns false without git.
func (s *stage) repository(ctx context.Context, dir, subject string) bool {
	for _, args := range [][]string{{"init", "-q"}, {"config", "user.name", "demo"}, {"config", "user.email", "demo@localhost"}, {"config", "commit.gpgsign", "false"},
		{"add", "."}, {"commit", "-q", "-m", subject}} {
		out, err := cliagent.Spawn(ctx, adapter.SpawnRequest{Command: "git", Args: args, Cwd: dir, Env: gitEnv})
		if err != nil || out.Code != 0 {
			return false
		}
	}
	return true
}

// installAgent links this program into the demo's PATH under the vendor's name.
func (s *stage) installAgent() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	name := filepath.Join(s.bin, "claude")
	if runtime.GOOS != "windows" {
		return os.Symlink(self, name)
	}
	b, err := os.ReadFile(self) // no link: Windows deletes none of a program that runs
	if err != nil {
		return err
	}
	return os.WriteFile(name+".exe", b, 0o700)
}
