package cli

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/repofile"
)

// RequestFlags are the flags of the commands that make a request. Every flag ends in a field of the request.
type RequestFlags struct {
	Model, Session, Fork, Cwd, Approve, Sandbox, Effort, System, SystemFile, SystemMode, Schema, Stream, Environment, RunID, ProjectID, Profile, File, Prompt string
	MCP, Attach, Env, Tags, Skills, Fallback                                                                                                                  []string
	AgentsDoc                                                                                                                                                 string
	NoSession, Yolo, Deny, Debug, KeepRetrying                                                                                                                bool
	Timeout, IdleTimeout, Grace                                                                                                                               time.Duration
	Budget, Temperature, TopP                                                                                                                                 float64
	TopK, MaxTurns, MaxOutputTokens, ThinkingBudget, Attempts                                                                                                 int
	Command                                                                                                                                                   []string // see Split
}

// Split takes the words of a command line apart, the agent's name first: what belongs to the prompt, and, for an agent that runs
// a program of the caller's, that program and its arguments behind --, which become Command. For any other agent -- only ends the
// flags.
func (f *RequestFlags) Split(cmd *cobra.Command, takesCommand, needCommand bool, args []string) (prompt []string, err error) {
	if !takesCommand {
		return args[1:], nil
	}
	dash := cmd.ArgsLenAtDash()
	if dash >= 0 {
		dash += len(args) - cmd.Flags().NArg() // an agent that was not named stands in front now
	}
	if dash == 0 { // it stands in front of the agent's name
		dash = 1
	}
	if dash < 0 || dash == len(args) {
		if !needCommand {
			return args[1:], nil
		}
		return nil, Usage("%s runs a program that you name, and none is named", args[0]).WithHint("%s %s \"what to do\" -- COMMAND [ARGS...]", cmd.CommandPath(), args[0])
	}
	f.Command = args[dash:]
	return args[1:dash], nil
}

// MaxPrompt bounds a prompt. It is far above what any model reads and far below what hurts this process.
const MaxPrompt = 64 << 20

// Register adds the flags to a command.
func (f *RequestFlags) Register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVarP(&f.Model, "model", "m", "", "model, in the agent's own words")
	fl.StringVar(&f.Session, "session", "", "resume this session of the agent")
	fl.StringVar(&f.Fork, "fork", "", "start from a copy of this session")
	fl.BoolVar(&f.NoSession, "no-session", false, "leave no session behind")
	fl.StringVarP(&f.Cwd, "cwd", "C", "", "directory to work in (default: here)")
	fl.DurationVar(&f.Timeout, "timeout", 0, "end the run after this time (0: never)")
	fl.DurationVar(&f.IdleTimeout, "idle-timeout", 0, "end the run after this time of silence; a running tool is not silence (0: never)")
	fl.DurationVar(&f.Grace, "grace", 5*time.Second, "time between asking the agent's processes to end and ending them")
	fl.StringVar(&f.Approve, "approve", "", "permission questions: yolo, prompt or deny (default prompt: asked on a terminal, else denied)")
	fl.BoolVar(&f.Yolo, "yolo", false, "approve everything; same as --approve yolo")
	fl.BoolVar(&f.Deny, "deny", false, "refuse everything that needs permission; same as --approve deny")
	fl.StringVar(&f.Sandbox, "sandbox", "", "what commands may touch, where the agent has a sandbox: read-only, workspace-write or none")
	fl.StringVar(&f.Effort, "effort", "", "how hard to think: low, medium, high or max")
	fl.IntVar(&f.ThinkingBudget, "thinking-budget", 0, "tokens for thinking, 1024 at least")
	fl.StringVar(&f.System, "system", "", "system prompt")
	fl.StringVar(&f.SystemFile, "system-file", "", "file with the system prompt")
	fl.StringVar(&f.SystemMode, "system-mode", "", "how it meets the agent's own: prepend, append or replace (default append)")
	fl.StringArrayVar(&f.MCP, "mcp", nil, "JSON file with MCP servers, {\"mcpServers\": {name: {command, args, env} or {type, url, headers}}} (repeatable)")
	fl.StringArrayVar(&f.Attach, "attach", nil, "file or URL to attach (repeatable)")
	fl.StringVar(&f.Schema, "schema", "", "file with a JSON Schema that the answer must satisfy")
	fl.Float64Var(&f.Budget, "budget", 0, "end the run when it has cost this many US dollars")
	fl.IntVar(&f.MaxTurns, "max-turns", 0, "end the run after this many model calls")
	fl.IntVar(&f.MaxOutputTokens, "max-output-tokens", 0, "longest single answer, in tokens")
	fl.Float64Var(&f.Temperature, "temperature", 0, "sampling temperature, 0 to 2")
	fl.Float64Var(&f.TopP, "top-p", 0, "nucleus sampling, 0 to 1")
	fl.IntVar(&f.TopK, "top-k", 0, "sample among this many tokens")
	fl.StringVar(&f.Stream, "stream", "", "auto, on (refuse an agent that cannot) or off (whole messages)")
	fl.StringArrayVarP(&f.Env, "env", "e", nil, "NAME=VALUE for the agent; NAME alone takes the value from here (repeatable)")
	fl.StringVar(&f.Environment, "environment", "", "what the agent inherits: inherit or minimal")
	fl.StringArrayVar(&f.Skills, "skill", nil, "folder of a skill for this run (repeatable)")
	fl.StringVar(&f.AgentsDoc, "agents-doc", "", "agents document to use")
	fl.StringArrayVar(&f.Tags, "tag", nil, "tag for the record (repeatable)")
	fl.StringVar(&f.ProjectID, "project-id", "", "project for the record")
	fl.StringVar(&f.Profile, "profile", "", "named options to start from: drawbar profiles list")
	fl.StringVar(&f.RunID, "run-id", "", "id of the run, a ULID (default: a new one)")
	fl.IntVar(&f.Attempts, "attempts", 1, "attempts in all when the agent crashes, is rate limited or times out")
	fl.BoolVar(&f.KeepRetrying, "keep-retrying", false, "let the agent go on when its credentials are refused repeatedly")
	fl.StringArrayVar(&f.Fallback, "fallback", nil, "agent to try when the one before cannot do it (repeatable)")
	fl.StringVarP(&f.Prompt, "prompt", "p", "", "the prompt, in place of words behind the agent's name")
	fl.StringVarP(&f.File, "file", "f", "", "file with the prompt; - is standard input")
	fl.BoolVar(&f.Debug, "debug", false, "show lines of the agent that are not understood")
}

// Request makes the request. promptArgs are the words behind the agent's name; stdin is read for the prompt when it is
// no terminal and nothing else gives one. Everything that is wrong with the flags is found here, before anything starts.
func (f *RequestFlags) Request(app *App, cmd *cobra.Command, agentName string, promptArgs []string, needPrompt bool) (execution.Request, error) {
	var req execution.Request
	o, err := f.Options(app, cmd, agentName)
	if err != nil {
		return req, err
	}
	cwd, err := f.cwd()
	if err != nil {
		return req, err
	}
	prompt, err := f.prompt(app, cmd, promptArgs, needPrompt)
	if err != nil {
		return req, err
	}
	req.Message.Text = execution.Prompt(prompt)
	if o, err = f.configured(app, cmd, cwd, o); err != nil {
		return req, err
	}
	o.Cwd = cwd
	if f.System != "" || f.SystemFile != "" {
		if req.Instructions.SystemPrompt, err = f.system(); err != nil {
			return req, err
		}
		if o.SystemPromptMode == "" {
			o.SystemPromptMode = execution.SystemPromptAppend
		}
	} else if f.SystemMode != "" {
		return req, Usage("--system-mode without a system prompt").WithHint("add --system or --system-file")
	}
	for _, a := range f.Attach {
		att, err := attachment(a)
		if err != nil {
			return req, err
		}
		req.Message.Attachments = append(req.Message.Attachments, att)
	}
	req.Run = o
	return req, nil
}

// Options are the options of a run that the flags state, and nothing else. Everything that is wrong with them is found here.
func (f *RequestFlags) Options(app *App, cmd *cobra.Command, agentName string) (execution.RunOptions, error) {
	for _, pair := range [][2]string{{"yolo", "deny"}, {"yolo", "approve"}, {"deny", "approve"}, {"session", "no-session"},
		{"session", "fork"}, {"fork", "no-session"}, {"system", "system-file"}} {
		if cmd.Flags().Changed(pair[0]) && cmd.Flags().Changed(pair[1]) {
			return execution.RunOptions{}, Usage("--%s and --%s contradict each other", pair[0], pair[1]).WithHint("give one of them")
		}
	}
	o := execution.RunOptions{Agent: agentName, Command: f.Command, Model: f.Model, ForkSessionID: f.Fork, NoSession: f.NoSession,
		Sandbox: execution.SandboxMode(f.Sandbox), TimeoutMs: f.Timeout.Milliseconds(), InactivityTimeoutMs: f.IdleTimeout.Milliseconds(), ApprovalMode: execution.ApprovalMode(f.Approve),
		ThinkingEffort: execution.ThinkingEffort(f.Effort), ThinkingBudgetTokens: f.ThinkingBudget, SystemPromptMode: execution.SystemPromptMode(f.SystemMode),
		Stream: execution.StreamMode(f.Stream), Environment: execution.EnvironmentMode(f.Environment), MaxTurns: f.MaxTurns,
		MaxOutputTokens: f.MaxOutputTokens, TopK: f.TopK, Skills: f.Skills, AgentsDoc: f.AgentsDoc, Tags: f.Tags, ProjectID: f.ProjectID,
		RunID: execution.RunID(f.RunID), Debug: f.Debug, KeepRetrying: f.KeepRetrying}
	for i, folder := range o.Skills { // --cwd is not where the person is
		path, err := filepath.Abs(folder)
		if err != nil {
			return o, Usage("--skill %s: %v", folder, err)
		}
		o.Skills[i] = path
	}
	var err error
	if o.SessionID, err = nativeSession(app, agentName, "session", f.Session); err != nil {
		return o, err
	}
	if o.ForkSessionID, err = nativeSession(app, agentName, "fork", f.Fork); err != nil {
		return o, err
	}
	switch {
	case f.Yolo:
		o.ApprovalMode = execution.ApprovalYolo
	case f.Deny:
		o.ApprovalMode = execution.ApprovalDeny
	}
	for name, d := range map[string]time.Duration{"timeout": f.Timeout, "idle-timeout": f.IdleTimeout, "grace": f.Grace} {
		if d < 0 || d > 0 && d < time.Millisecond {
			return o, Usage("--%s %s is out of range", name, d).WithHint("a duration such as 90s or 20m")
		}
	}
	if cmd.Flags().Changed("grace") {
		ms := f.Grace.Milliseconds()
		o.GracePeriodMs = &ms
	}
	for _, v := range []struct {
		name string
		val  int
		min  int
	}{{"max-turns", f.MaxTurns, 1}, {"max-output-tokens", f.MaxOutputTokens, 1}, {"top-k", f.TopK, 1}, {"thinking-budget", f.ThinkingBudget, 1024}, {"attempts", f.Attempts, 1}} {
		if cmd.Flags().Changed(v.name) && v.val < v.min {
			return o, Usage("--%s %d is out of range", v.name, v.val).WithHint("%d or more", v.min)
		}
	}
	for _, v := range []struct {
		name string
		val  float64
		max  float64
		set  **float64
	}{{"budget", f.Budget, 1e9, &o.MaxBudgetUSD}, {"temperature", f.Temperature, 2, &o.Temperature}, {"top-p", f.TopP, 1, &o.TopP}} {
		if !cmd.Flags().Changed(v.name) {
			continue
		}
		if math.IsNaN(v.val) || v.val < 0 || v.val > v.max {
			return o, Usage("--%s %g is out of range", v.name, v.val).WithHint("0 to %g", v.max)
		}
		val := v.val
		*v.set = &val
	}
	if f.Attempts > 1 {
		p := execution.DefaultRetryPolicy()
		p.MaxAttempts = f.Attempts
		o.RetryPolicy = &p
	}
	if o.Env, err = f.environment(app); err != nil {
		return o, err
	}
	if f.Schema != "" {
		b, err := readFlag("--schema", f.Schema, maxFlagFile)
		if err != nil {
			return o, err
		}
		if !json.Valid(b) {
			return o, Usage("--schema %s: the file holds no JSON", f.Schema)
		}
		o.OutputSchema = b
	}
	for _, file := range f.MCP {
		servers, err := ReadMCP(file)
		if err != nil {
			return o, err
		}
		o.MCPServers = append(o.MCPServers, servers...)
	}
	return o, nil
}

// nativeSession takes the agent's own session id, or the unified one of the same agent under any of its names.
func nativeSession(app *App, agentName, flag, id string) (string, error) {
	owner, native, ok := execution.SplitSession(id)
	if !ok {
		return id, nil
	}
	c, err := app.Client()
	if err != nil {
		return "", err
	}
	agent, err := c.Adapters().Get(agentName)
	if err != nil {
		return "", err
	}
	if have, err := c.Adapters().Get(owner); err != nil || have.Descriptor.Name != agent.Descriptor.Name {
		return "", Usage("session %s belongs to %s, not to %s", id, owner, agentName).WithHint("drawbar run %s --%s %s", owner, flag, id)
	}
	return native, nil
}

func (f *RequestFlags) prompt(app *App, cmd *cobra.Command, args []string, need bool) (string, error) {
	given := cmd.Flags().Changed("prompt")
	switch {
	case len(args) > 0 && f.File != "":
		return "", Usage("a prompt is given as argument and with --file").WithHint("give one of them")
	case len(args) > 0 && given:
		return "", Usage("a prompt is given as argument and with --prompt").WithHint("give one of them")
	case given && f.File != "":
		return "", Usage("a prompt is given with --prompt and with --file").WithHint("give one of them")
	}
	text := strings.Join(args, " ")
	switch {
	case len(args) > 0:
	case given:
		text = f.Prompt
	case f.File == "-" || f.File == "" && !IsTerminal(app.In):
		b, err := io.ReadAll(io.LimitReader(app.In, MaxPrompt+1))
		if err != nil {
			return "", Usage("read the prompt from standard input: %v", err)
		}
		text = string(b)
	case f.File != "":
		b, err := readFlag("--file", f.File, MaxPrompt)
		if err != nil {
			return "", err
		}
		text = string(b)
	}
	if len(text) > MaxPrompt {
		return "", Usage("the prompt is longer than %d MiB", MaxPrompt>>20)
	}
	if strings.TrimSpace(text) == "" {
		if !need {
			return "negotiation", nil
		}
		return "", Usage("the prompt is empty").WithHint("%s \"what to do\", --file FILE, or pipe it in", cmd.CommandPath()+" AGENT")
	}
	return text, nil
}

func (f *RequestFlags) cwd() (string, error) {
	dir, err := filepath.Abs(f.Cwd)
	if err != nil {
		return "", Usage("--cwd %s: %v", f.Cwd, err)
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", Usage("the directory %s does not exist", dir).WithHint("mkdir -p %s, or another --cwd", dir)
	case err != nil:
		return "", Usage("--cwd: %v", err)
	case !info.IsDir():
		return "", Usage("%s is no directory", dir).WithHint("another --cwd")
	}
	d, err := os.Open(dir)
	if err != nil {
		return "", Usage("the directory %s cannot be read: %v", dir, err)
	}
	return dir, d.Close()
}

func (f *RequestFlags) environment(app *App) (map[string]string, error) {
	if len(f.Env) == 0 {
		return nil, nil
	}
	m := map[string]string{}
	for _, pair := range f.Env {
		name, value, ok := strings.Cut(pair, "=")
		if name == "" {
			return nil, Usage("--env %q has no name", pair).WithHint("--env NAME=VALUE")
		}
		if !ok {
			if value = app.Getenv(name); value == "" {
				return nil, Usage("--env %s: the variable is not set here", name).WithHint("--env %s=VALUE", name)
			}
		}
		m[name] = value
	}
	return m, nil
}

func (f *RequestFlags) system() (string, error) {
	if f.SystemFile == "" {
		return f.System, nil
	}
	b, err := readFlag("--system-file", f.SystemFile, maxFlagFile)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(string(b)) == "" {
		return "", Usage("--system-file %s is empty", f.SystemFile)
	}
	return string(b), nil
}

// maxFlagFile bounds a file that a flag names and that is not the prompt.
const maxFlagFile = 16 << 20

// readFlag reads the file that a flag names: a file or a pipe, up to a bound.
func readFlag(flag, path string, limit int64) ([]byte, error) {
	b, err := repofile.Input(path, limit)
	switch {
	case errors.Is(err, repofile.ErrTooLarge):
		return nil, Usage("%s %s is too large", flag, path).WithHint("at most %d MiB are read", limit>>20)
	case errors.Is(err, repofile.ErrNotRegular):
		return nil, Usage("%s %s is neither a file nor a pipe", flag, path).WithHint("name a file")
	case err != nil:
		return nil, Unreadable(flag, &fs.PathError{Op: "open", Path: path, Err: err})
	}
	return b, nil
}

func attachment(a string) (execution.Attachment, error) {
	if strings.HasPrefix(a, "http://") || strings.HasPrefix(a, "https://") {
		return execution.Attachment{URL: a, Name: filepath.Base(a), MimeType: mime.TypeByExtension(filepath.Ext(a))}, nil
	}
	path, err := filepath.Abs(a)
	if err != nil {
		return execution.Attachment{}, Usage("--attach %s: %v", a, err)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // opening a pipe would wait
		return execution.Attachment{}, Usage("--attach %s is not a regular file", a)
	}
	file, err := os.Open(path)
	if err != nil {
		return execution.Attachment{}, Unreadable("--attach", err)
	}
	defer file.Close()
	return execution.Attachment{FilePath: path, Name: filepath.Base(path), MimeType: mime.TypeByExtension(filepath.Ext(path))}, nil
}
