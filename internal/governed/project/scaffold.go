package project

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/base/lazy"
	"github.com/drawbar/drawbar/internal/governed/governance/charter"
)

// ScaffoldOptions describe a new project. The zero value is a generic project named after its folder.
type ScaffoldOptions struct {
	Template string // one of Templates; empty: generic
	Name     string // empty: the name of the folder
	ID       string // empty: derived from the name
	Goal     string
	// Agent is a Drawbar adapter that runs the developer and the reviewers, and in full-local-cli all roles.
	Agent string
	// Approve answers that agent's permission requests: prompt (empty), yolo or deny.
	Approve string
	// DevCommand is the developer's program on one line; it takes precedence over Agent. It must contain
	// {prompt}, or DevPromptTransport must be set.
	DevCommand         string
	DevPromptTransport string // argv, stdin or dispatch_bundle_only
	// Force replaces the configuration of an existing project and keeps the old one beside it. No other
	// existing file is changed, with or without it.
	Force bool
}

// Scaffold creates a governed project in dir and returns the created and changed files, relative to dir.
// Existing files are kept; missing lines are added to .gitignore. Contradictory options or an existing project
// are refused before anything is written; after a failure everything created is removed.
func Scaffold(dir string, o ScaffoldOptions) (created []string, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "create a project in %s: %w", dir, err)
	}
	t, err := o.settle(abs)
	if err != nil {
		return nil, err
	}
	dev, err := devRuntime(o)
	if err != nil {
		return nil, err
	}
	c := t.config(o, dev)
	if faults := charter.Errors(charter.Check(c)); len(faults) > 0 {
		return nil, (&InvalidError{File: protocol.ConfigFile, Problems: faults}).refusal()
	}
	if err := vacant(abs, o.Force); err != nil {
		return nil, err
	}
	files, err := t.files(c)
	if err != nil {
		return nil, err
	}
	b, err := newBuilder(abs)
	if err != nil {
		return nil, execution.Errorf(execution.CodeConfig, "create a project in %s: %w", abs, err)
	}
	defer b.close()
	if err := b.build(c, files); err != nil {
		b.undo()
		return nil, execution.Errorf(execution.CodeConfig, "create a project in %s: %w", abs, err).WithHint("no changes were kept; fix this and try again")
	}
	slices.Sort(b.made)
	return b.made, nil
}

var notSlug = lazy.Regexp(`[^a-z0-9]+`)

// settle fills in missing options and finds the template.
func (o *ScaffoldOptions) settle(dir string) (Template, error) {
	usage := func(hint, format string, args ...any) (Template, error) {
		return Template{}, execution.Errorf(execution.CodeValidation, format, args...).WithHint("%s", hint)
	}
	if o.Template == "" {
		o.Template = templates[0].ID
	}
	i := slices.IndexFunc(templates, func(t Template) bool { return t.ID == o.Template })
	if i < 0 {
		return usage("one of "+strings.Join(templateIDs(), ", "), "there is no template %q", o.Template)
	}
	if o.Name = strings.TrimSpace(o.Name); o.Name == "" {
		o.Name = filepath.Base(dir)
	}
	if strings.ContainsFunc(o.Name, unicode.IsControl) || strings.Trim(o.Name, `/\. `) == "" {
		o.Name = "Project"
	}
	if o.ID == "" {
		if o.ID = strings.Trim(notSlug().ReplaceAllString(strings.ToLower(o.Name), "-"), "-"); o.ID == "" {
			o.ID = "project"
		}
	}
	if strings.TrimSpace(o.ID) != o.ID || strings.ContainsFunc(o.ID, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
		return usage("letters, digits, - and _", "%q is not a valid project id", o.ID)
	}
	o.Goal, o.Agent = strings.TrimSpace(o.Goal), strings.TrimSpace(o.Agent)
	return templates[i], nil
}

// devRuntime returns the developer's program. A command must say how it receives the prompt: a guess would
// start an agent that never sees its task.
func devRuntime(o ScaffoldOptions) (protocol.Runtime, error) {
	refuse := func(hint, format string, args ...any) (protocol.Runtime, error) {
		return protocol.Runtime{}, execution.Errorf(execution.CodeValidation, format, args...).WithHint("%s", hint)
	}
	known := []string{protocol.TransportArgv, protocol.TransportStdin, protocol.TransportBundleOnly}
	transport := o.DevPromptTransport
	if transport != "" && !slices.Contains(known, transport) {
		return refuse("one of "+strings.Join(known, ", "), "unknown prompt transport %q", transport)
	}
	rt := protocol.Runtime{Type: protocol.RuntimeLocalCLI, CWD: ".", PromptTransport: transport}
	command := strings.TrimSpace(o.DevCommand)
	if command == "" {
		switch {
		case o.DevCommand != "":
			return refuse("--dev-command 'PROGRAM {prompt}'", "the developer's command is blank")
		case o.Agent != "" && transport != "":
			return refuse("omit --dev-prompt-transport, or add --dev-command", "Drawbar's agents receive the prompt in their own way, not by %s", transport)
		case transport == protocol.TransportArgv:
			return refuse("--dev-command 'PROGRAM {prompt}'", "the default command of the developer has no {prompt}")
		case transport == "":
			rt.PromptTransport = protocol.TransportStdin
		}
		rt.Command = protocol.Words{List: []string{"claude", "--print", "--dangerously-skip-permissions", "--bare"}}
		return rt, nil
	}
	has := strings.Contains(command, "{prompt}")
	switch {
	case !has && transport == "":
		return refuse("put {prompt} where the prompt belongs, or add --dev-prompt-transport stdin or dispatch_bundle_only",
			"it is not clear how %q receives the prompt", command)
	case !has && transport == protocol.TransportArgv:
		return refuse("put {prompt} where the prompt belongs", "the prompt must be an argument of %q, which has no {prompt}", command)
	case has && transport != "" && transport != protocol.TransportArgv:
		return refuse("remove {prompt}, or use --dev-prompt-transport argv", "%q has {prompt}, but the prompt transport is %s", command, transport)
	case has:
		rt.PromptTransport = protocol.TransportArgv
	}
	words, err := protocol.SplitLine(command)
	if err != nil {
		return refuse("quote words that belong together", "--dev-command: %v", err)
	}
	if info, err := os.Stat(command); err == nil && info.Mode().IsRegular() {
		words = []string{command} // a program in a folder whose name contains a space
	}
	rt.Command = protocol.Words{List: words}
	return rt, nil
}

// vacant refuses a folder that has a project.
func vacant(dir string, force bool) error {
	for _, name := range []string{protocol.ConfigFile, protocol.StateFile} {
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return execution.Errorf(execution.CodeConfig, "create a project in %s: %w", dir, err)
		case name == protocol.ConfigFile && !info.Mode().IsRegular():
			return execution.Errorf(execution.CodeConfig, "%s in %s is not a regular file", name, dir).WithHint("move it away")
		case !force:
			return execution.Errorf(execution.CodeConfig, "there is already a governed project in %s: it has %s", dir, name).
				WithHint("drawbar govern status; --force replaces the configuration and keeps the record")
		}
	}
	return nil
}

// files returns the contents of all files but the configuration, by path.
func (t Template) files(c *protocol.Config) (map[string]string, error) {
	files := map[string]string{}
	fill := t.fill(c.Project.Name)
	for _, id := range scaffoldRoles {
		text := scaffolded("prompts/" + id + ".md")
		if t.local {
			text = strings.ReplaceAll(text, "\nLeave product files alone.\n", "\nKeep to the planning files; the product is the developer's.\n")
			text = strings.ReplaceAll(text, "\nYou write only below `.planning/` and `.agentxchain/reviews/`. If you cannot write files at all, put the verdict into your\nresult and do not list files that you did not change.\n",
				"\nYou may change product files, but report problems that the developer should know about instead of fixing them.\n")
		}
		if g := t.guidance[id]; g != "" {
			text += "\n" + guidanceHead + "\n\n" + g + "\n"
		}
		files[protocol.PromptsDir+"/"+id+".md"] = text
	}
	for _, name := range []string{"PM_SIGNOFF.md", "SYSTEM_SPEC.md", "IMPLEMENTATION_NOTES.md", "acceptance-matrix.md", "ship-verdict.md", "RELEASE_NOTES.md"} {
		files[protocol.PlanningDir+"/"+name] = fill.Replace(scaffolded("planning/" + name))
	}
	maps.Copy(files, t.planningFiles(c.Project.Name))
	files[protocol.PlanningDir+"/ROADMAP.md"] = roadmap(c)
	files[protocol.TalkFile] = fmt.Sprintf("# %s\n\nThe results of accepted turns, for people to read.\n", c.Project.Name)
	state, err := protocol.MarshalFile(emptyState(c))
	if err != nil {
		return nil, err
	}
	files[protocol.StateFile] = string(state)
	files[protocol.HistoryFile], files[protocol.LedgerFile] = "", ""
	return files, nil
}

// planningFiles returns the template's planning files besides those of every project, by path.
func (t Template) planningFiles(name string) map[string]string {
	files := map[string]string{}
	for _, file := range t.planning {
		files[protocol.PlanningDir+"/"+file] = t.fill(name).Replace(scaffolded("templates/" + t.ID + "/" + file))
	}
	return files
}

func (t Template) fill(name string) *strings.Replacer {
	return strings.NewReplacer("{{project_name}}", name, "{{purpose}}", t.spec.purpose, "{{interface}}", t.spec.interfaces,
		"{{behavior}}", t.spec.behavior, "{{errors}}", t.spec.errors, "{{acceptance}}", t.spec.acceptance)
}

func scaffolded(name string) string {
	b, err := scaffoldFiles.ReadFile("scaffold/" + name)
	if err != nil {
		panic(err) // the file is embedded in the program
	}
	return string(b)
}

func roadmap(c *protocol.Config) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Roadmap: %s\n\n## Phases\n\n| Phase | Started by | Ends when |\n|-------|----------|-----------|\n", c.Project.Name)
	for name, p := range c.Routing.All() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, p.EntryRole, p.ExitGate)
	}
	b.WriteString("\n## Items\n\n(What is built, in which order, and how each item is verified.)\n")
	return b.String()
}

// emptyState is the state of a project before its first run.
func emptyState(c *protocol.Config) protocol.State {
	s := protocol.State{SchemaVersion: protocol.StateVersion, ProjectID: c.Project.ID, Status: protocol.RunIdle, Phase: c.Phases()[0]}
	for _, p := range c.Routing.All() {
		if p.ExitGate != "" {
			s.PhaseGateStatus.Set(p.ExitGate, protocol.GatePending)
		}
	}
	if c.Budget != nil {
		s.BudgetStatus.RemainingUSD = c.Budget.PerRunMaxUSD
	}
	return s
}

// Ignored are the lines of .gitignore: files of a run that are not part of the work. The prompts belong to the user.
func Ignored() []string {
	lines := []string{".env"}
	for _, dir := range []string{"dispatch", "staging", "archive", "locks", "transactions", "worktrees", "reviews", "proposed", "reports",
		"intake", "missions", "multirepo", "plugins"} {
		lines = append(lines, protocol.Dir+"/"+dir+"/")
	}
	for _, file := range []string{"state.json", "session.json", "history.jsonl", "decision-ledger.jsonl", "repo-decisions.jsonl", "events.jsonl", "chain.jsonl",
		"run-history.jsonl", "hook-audit.jsonl", "hook-annotations.jsonl", "human-escalations.jsonl", "notification-audit.jsonl",
		"sla-reminders.json", "dispatch-progress-*.json", "schedule-state.json", "schedule-daemon.json", "continuous-session.json",
		"SESSION_RECOVERY.md", "migration-report.md", "lock.json"} {
		lines = append(lines, protocol.Dir+"/"+file)
	}
	return append(lines, protocol.TalkFile, protocol.HumanTasksFile)
}

// builder writes the files of a new project and remembers them, to undo them on failure.
type builder struct {
	root *os.Root
	made []string
	back []func() // undo functions, to call last first
}

func newBuilder(dir string) (*builder, error) {
	b := &builder{}
	var missing []string
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		missing = append(missing, at)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	slices.Reverse(missing)
	for _, m := range missing {
		b.back = append(b.back, func() { os.Remove(m) })
	}
	var err error
	if b.root, err = os.OpenRoot(dir); err != nil {
		b.undo()
		return nil, err
	}
	return b, nil
}

func (b *builder) close() { _ = b.root.Close() }

func (b *builder) undo() {
	for _, f := range slices.Backward(b.back) {
		f()
	}
}

// build writes the configuration last: without it the folder is not a project yet.
func (b *builder) build(c *protocol.Config, files map[string]string) error {
	for _, dir := range []string{protocol.DispatchDir, protocol.StagingDir, protocol.ReviewsDir} {
		if err := b.dir(dir); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := b.add(name, files[name]); err != nil {
			return err
		}
	}
	if err := b.ignore(); err != nil {
		return err
	}
	text, err := protocol.MarshalFile(c)
	if err != nil {
		return err
	}
	old, err := b.read(protocol.ConfigFile)
	if err != nil {
		return err
	}
	if old != nil {
		if err := b.keep(old); err != nil {
			return err
		}
	}
	return b.replace(protocol.ConfigFile, text, old)
}

// keep saves a replaced configuration.
func (b *builder) keep(old []byte) error {
	name := protocol.ConfigFile + ".bak"
	for i := 2; ; i++ {
		if _, err := b.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return b.add(name, string(old))
		} else if err != nil {
			return err
		}
		name = fmt.Sprintf("%s.bak%d", protocol.ConfigFile, i)
	}
}

func (b *builder) dir(name string) error {
	if name == "." {
		return nil
	}
	if err := b.dir(path.Dir(name)); err != nil {
		return err
	}
	err := b.root.Mkdir(name, 0o755)
	if errors.Is(err, fs.ErrExist) {
		info, err := b.root.Stat(name)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is not a directory", name)
		}
		return err
	}
	if err == nil {
		b.back = append(b.back, func() { _ = b.root.Remove(name) })
	}
	return err
}

// add writes a file unless it exists.
func (b *builder) add(name, content string) error {
	if err := b.dir(path.Dir(name)); err != nil {
		return err
	}
	f, err := b.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	b.back = append(b.back, func() { _ = b.root.Remove(name) })
	b.made = append(b.made, name)
	_, err = f.WriteString(content)
	return errors.Join(err, f.Close())
}

// read returns the content of a regular file; nil if there is none.
func (b *builder) read(name string) ([]byte, error) {
	info, err := b.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	data, err := b.root.ReadFile(name)
	if data == nil {
		data = []byte{}
	}
	return data, err
}

// replace replaces a file atomically.
func (b *builder) replace(name string, content, old []byte) error {
	write := func(text []byte) error { return atomicfile.WriteIn(b.root, name, text, 0o644, false) }
	if err := write(content); err != nil {
		return err
	}
	b.made = append(b.made, name)
	b.back = append(b.back, func() {
		if old == nil {
			_ = b.root.Remove(name)
		} else {
			_ = write(old)
		}
	})
	return nil
}

// ignore adds missing lines to .gitignore and keeps its line endings.
func (b *builder) ignore() error {
	old, err := b.read(".gitignore")
	if err != nil {
		return err
	}
	eol := "\n"
	if strings.Contains(string(old), "\r\n") {
		eol = "\r\n"
	}
	var have []string
	for line := range strings.Lines(string(old)) {
		have = append(have, strings.TrimSpace(line))
	}
	text := string(old)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += eol
	}
	before := text
	for _, line := range Ignored() {
		if !slices.Contains(have, line) {
			text += line + eol
		}
	}
	if text == before {
		return nil
	}
	return b.replace(".gitignore", []byte(text), old)
}
