package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/internal/base/repofile"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/sessions"
)

// RequestFlags are the flags of commands that create a request: the options in the table of package execution, and the prompt's.
// Every flag becomes a field of the request.
type RequestFlags struct {
	System, SystemFile, File, Prompt string
	execution.Correlation
	Attach, Fallback []string
	Yolo, Deny       bool
	Command          []string // see Split
	PromptOptional   bool     // see adapter.Descriptor

	flags    func(name string) string // value of a flag as text
	readings map[string]reading       // by option name
}

// promptFlags are the flags that are not options of a run.
var promptFlags = []string{"system", "system-file", "attach", "fallback", "prompt", "file", "turn-id", "assistant-id", "correlation-id"}

// Split returns the prompt's words of a command line that begins with the agent's name. For an agent that runs a program of the
// caller's, the words after -- become Command. For other agents -- only ends the flags.
func (f *RequestFlags) Split(cmd *cobra.Command, takesCommand bool, args []string) (prompt []string) {
	if !takesCommand {
		return args[1:]
	}
	dash := cmd.ArgsLenAtDash()
	if dash >= 0 {
		dash += len(args) - cmd.Flags().NArg() // a default agent was prepended
	}
	if dash == 0 { // before the agent's name
		dash = 1
	}
	if dash < 0 || dash == len(args) {
		return args[1:]
	}
	f.Command = args[dash:]
	return args[1:dash]
}

// MaxPrompt is the maximum size of a prompt, far above what any model reads.
const MaxPrompt = 64 << 20

// Register adds the flags to a command.
func (f *RequestFlags) Register(cmd *cobra.Command) {
	fl := cmd.Flags()
	f.flags = func(name string) string { return fl.Lookup(name).Value.String() }
	f.readings = map[string]reading{}
	for o := range execution.Options() {
		if o.Flag != "" {
			f.readings[o.Name] = registerOption(cmd, o)
		}
	}
	fl.BoolVar(&f.Yolo, "yolo", false, "approve everything (same as --approve yolo)")
	fl.BoolVar(&f.Deny, "deny", false, "deny everything that needs permission (same as --approve deny)")
	fl.StringVar(&f.System, "system", "", "system prompt")
	fl.StringVar(&f.SystemFile, "system-file", "", "file with the system prompt")
	fl.StringArrayVar(&f.Attach, "attach", nil, "file or URL to attach (repeatable)")
	fl.StringArrayVar(&f.Fallback, "fallback", nil, "fallback agent if the previous one cannot do it (repeatable)")
	fl.StringVar(&f.TurnID, "turn-id", "", "your id of this turn, for events, hooks and the record")
	fl.StringVar(&f.AssistantID, "assistant-id", "", "your id of the assistant, for events, hooks and the record")
	fl.StringVar(&f.CorrelationID, "correlation-id", "", "your id of the conversation, for events, hooks and the record")
	fl.StringVarP(&f.Prompt, "prompt", "p", "", "prompt, instead of words after the agent's name")
	fl.StringVarP(&f.File, "file", "f", "", "file with the prompt (- for standard input)")
}

// Refuse hides and refuses the prompt's flags but those in kept, and the options for which keep returns false. The error is "--FLAG why".
func (f *RequestFlags) Refuse(cmd *cobra.Command, keep func(execution.Option) bool, why, hint string, kept ...string) {
	names := slices.DeleteFunc(slices.Clone(promptFlags), func(name string) bool { return slices.Contains(kept, name) })
	for o := range execution.Options() {
		if o.Flag != "" && !keep(o) {
			names = append(names, o.Flag)
		}
	}
	for _, name := range names {
		_ = cmd.Flags().MarkHidden(name) // fails only for a missing flag
	}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		for _, name := range names {
			if cmd.Flags().Changed(name) {
				return Usage("--%s %s", name, why).WithHint("%s", hint)
			}
		}
		return nil
	}
}

// Dir returns the value of --cwd.
func (f *RequestFlags) Dir() string { return f.flags("cwd") }

// Request creates the request. promptArgs are the words after the agent's name; without a prompt, standard input is read unless it
// is a terminal. All mistakes in the flags are reported here, before anything starts.
func (f *RequestFlags) Request(app *App, cmd *cobra.Command, agentName string, promptArgs []string, needPrompt bool) (execution.Request, error) {
	var req execution.Request
	if err := f.sessionFrom(execution.Invocation(f.flags("on"))); err != nil {
		return req, err
	}
	stated, err := f.Stated(app, cmd, agentName)
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
	req.AssistantID, req.TurnID, req.SessionID = f.AssistantID, f.TurnID, f.CorrelationID
	o, err := f.configured(app, cwd, agentName, stated)
	if err != nil {
		return req, err
	}
	if err := f.sessionFrom(o.Invocation); err != nil {
		return req, err
	}
	o.Cwd = cwd
	if req.Instructions.SystemPrompt, err = f.SystemPrompt(); err != nil {
		return req, err
	}
	if req.Instructions.SystemPrompt != "" {
		o.SystemPromptMode = cmp.Or(o.SystemPromptMode, execution.SystemPromptAppend)
	} else if f.flags("system-mode") != "" {
		return req, NoSystemPrompt()
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

// sessionFrom refuses to look here for the session of an agent that runs elsewhere.
func (f *RequestFlags) sessionFrom(where execution.Invocation) error {
	for _, flag := range []string{"session", "fork"} {
		if v := f.flags(flag); where.Elsewhere() && (v == Latest || v == pick) {
			return Usage("--%s %s looks for sessions on this machine, and the agent runs on %s", flag, v, where).WithHint("--%s RUN, the run that was in it: drawbar ps --all", flag)
		}
	}
	return nil
}

// RunIn returns the options of a run of an agent in a directory: over over the flags, the flags over the profile and the configuration.
func (f *RequestFlags) RunIn(app *App, cmd *cobra.Command, dir, agent string, over config.Options) (execution.RunOptions, error) {
	var none execution.RunOptions
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return none, Usage("%s is not a directory", dir)
	}
	stated, err := f.Stated(app, cmd, agent)
	if err != nil {
		return none, err
	}
	stated.Lay(over)
	o, err := f.configured(app, dir, agent, stated)
	o.Cwd = dir
	return o, err
}

// Latest is the session to continue with where a session is asked for: the newest one of the agent in the directory.
const Latest = "latest"

// pick is where a session is asked for: the one that the person chooses, of those of the agent in the directory.
const pick = "pick"

// nativeSession returns the agent's own session id. A name, an id, the beginning of one, and the id of a run are looked up in the
// sessions on disk; what is not there is left to the agent, which may keep sessions elsewhere. The session must be the agent's.
func nativeSession(app *App, agentName, flag, id string) (string, error) {
	if id == "" || agentName == "" {
		return id, nil
	}
	agent, err := app.Agent(agentName)
	if err != nil {
		return "", err
	}
	client, err := app.Client()
	if err != nil {
		return "", err
	}
	store, err := client.Sessions()
	if err != nil {
		return "", err
	}
	switch id {
	case Latest:
		s, err := newestSessions(store, agent.Descriptor.Name, app.Dir())
		if err != nil {
			return "", err
		}
		return s[0].SessionID, nil
	case pick:
		return pickSession(app, store, agent.Descriptor, flag)
	}
	unified := id
	if _, _, ok := execution.SplitSession(id); !ok {
		if unified, err = findSession(client, store, agent.Descriptor.Name, id); unified == "" || err != nil {
			return id, err
		}
	} else if found, err := store.Find(context.Background(), id); err == nil {
		unified = found.UnifiedID
	}
	owner, native, _ := execution.SplitSession(unified)
	if have, err := app.Agent(owner); err != nil || have.Descriptor.Name != agent.Descriptor.Name {
		return "", Usage("session %s belongs to %s, not to %s", id, owner, agentName).WithHint("drawbar run %s --%s %s", owner, flag, id)
	}
	return native, nil
}

// findSession returns the session with a name, that of an agent with an id or the beginning of one, or that of a run; empty if there is
// none. An id of another agent's session is none: a remote agent, or one that the user added, may have the same.
func findSession(client *drawbar.Client, store *drawbar.Sessions, agent, id string) (unified string, err error) {
	ctx := context.Background()
	if named, err := store.Find(ctx, id); err == nil && named.Name == id {
		return named.UnifiedID, nil
	}
	own, err := store.Find(ctx, execution.UnifiedSession(agent, id))
	switch execution.CodeOf(err) {
	case "":
		return own.UnifiedID, nil
	case execution.CodeSessionNotFound, execution.CodeCapability, execution.CodeAgentNotFound, execution.CodeUnknownAgent:
	default:
		return "", err
	}
	if len(id) < shortRun {
		return "", nil
	}
	return client.SessionOfRun(id), nil
}

// shortRun is the least length of the beginning of a run's id where it can be taken for that of a session.
const shortRun = 8

// LatestSession is a session as it was typed, with the newest one of the directory, of any agent, in the place of Latest.
func LatestSession(app *App, store *drawbar.Sessions, typed string) (string, error) {
	if typed != Latest {
		return typed, nil
	}
	list, err := newestSessions(store, "", app.Dir())
	if err != nil {
		return "", err
	}
	return list[0].UnifiedID, nil
}

// newestSessions returns the sessions of an agent, or of all, in a directory, the newest first; at least one.
func newestSessions(store *drawbar.Sessions, agent, dir string) (list []history.Summary, err error) {
	dirs := []string{dir}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		dirs = append(dirs, real) // as most agents state it
	}
	for _, dir := range dirs {
		l, err := store.List(context.Background(), sessions.Query{Agent: agent, Cwd: dir})
		if err != nil {
			return nil, err
		}
		for _, s := range l.Sessions {
			if s.Parent == "" && !s.Archived {
				list = append(list, s)
			}
		}
		if len(list) > 0 {
			return list, nil
		}
	}
	if agent == "" {
		return nil, execution.Errorf(execution.CodeSessionNotFound, "no agent has a session in %s", dir).WithHint("drawbar sessions list")
	}
	return nil, execution.Errorf(execution.CodeSessionNotFound, "%s has no session in %s", agent, dir).WithHint("drawbar sessions list --agent %s", agent)
}

// pickSession lets the person choose a session.
func pickSession(app *App, store *drawbar.Sessions, d adapter.Descriptor, flag string) (string, error) {
	list, err := newestSessions(store, d.Name, app.Dir())
	if err != nil {
		return "", err
	}
	var lines []string
	for _, s := range list {
		name := ""
		if s.Name != "" {
			name = "[" + s.Name + "] "
		}
		lines = append(lines, fmt.Sprintf("%-4s %s%s", Age(time.Since(s.UpdatedAt)), name, OneLine(s.Title, 200)))
	}
	i, err := app.Choose(context.Background(), "a session", lines, fmt.Sprintf("drawbar sessions list --agent %s, then: --%s ID; or --%[2]s latest", d.Name, flag))
	if err != nil {
		return "", err
	}
	return list[i].SessionID, nil
}

func (f *RequestFlags) prompt(app *App, cmd *cobra.Command, args []string, need bool) (string, error) {
	given := cmd.Flags().Changed("prompt")
	switch {
	case len(args) > 0 && f.File != "":
		return "", Usage("the prompt is given both as an argument and with --file").WithHint("give one of them")
	case len(args) > 0 && given:
		return "", Usage("the prompt is given both as an argument and with --prompt").WithHint("give one of them")
	case given && f.File != "":
		return "", Usage("the prompt is given both with --prompt and with --file").WithHint("give one of them")
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
		b, err := ReadFlag("--file", f.File, MaxPrompt)
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
		if f.PromptOptional && len(f.Command) > 0 {
			return strings.Join(f.Command, " "), nil
		}
		return "", Usage("the prompt is empty").WithHint("%s \"what to do\", --file FILE, or pipe it in", cmd.CommandPath()+" AGENT")
	}
	return text, nil
}

func (f *RequestFlags) cwd() (string, error) {
	dir, err := filepath.Abs(f.Dir())
	if err != nil {
		return "", Usage("--cwd %s: %v", f.Dir(), err)
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", Usage("the directory %s does not exist", dir).WithHint("mkdir -p %s, or choose another --cwd", dir)
	case err != nil:
		return "", Usage("--cwd: %v", err)
	case !info.IsDir():
		return "", Usage("%s is not a directory", dir).WithHint("choose another --cwd")
	}
	d, err := os.Open(dir)
	if err != nil {
		return "", Usage("cannot read the directory %s: %v", dir, err)
	}
	return dir, d.Close()
}

// NoSystemPrompt refuses --system-mode where nothing has a system prompt.
func NoSystemPrompt() error {
	return Usage("--system-mode without a system prompt").WithHint("add --system or --system-file")
}

// SystemPrompt returns the text of --system or --system-file.
func (f *RequestFlags) SystemPrompt() (string, error) {
	if f.SystemFile == "" {
		return f.System, nil
	}
	b, err := ReadFlag("--system-file", f.SystemFile, maxFlagFile)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(string(b)) == "" {
		return "", Usage("--system-file %s is empty", f.SystemFile)
	}
	return string(b), nil
}

// maxFlagFile is the maximum size of a flag's file other than the prompt.
const maxFlagFile = 16 << 20

// ReadFlag reads a flag's file or pipe, up to a limit.
func ReadFlag(flag, path string, limit int64) ([]byte, error) {
	b, err := repofile.Input(path, limit)
	switch {
	case errors.Is(err, repofile.ErrTooLarge):
		return nil, Usage("%s %s is too large", flag, path).WithHint("the limit is %d MiB", limit>>20)
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
