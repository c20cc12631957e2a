package turnruntime

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/lookpath"
	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/internal/governed/procenv"
)

// Placeholders in a command.
const (
	promptWord = "{prompt}"
	fileWord   = "{prompt_file}"
)

// mostArgument is the longest argument that Linux accepts, including its NUL.
const mostArgument = 128<<10 - 1

// plan is a command that is ready to start.
type plan struct {
	program   string // absolute
	args      []string
	masked    []string // the arguments without the prompt, for the log
	dir       string
	env       []string
	transport string
	stdin     []byte
	promptArg int // index of the argument that gets the path of the prompt's file, -1 for none; it then holds {prompt_file}
	redact    *secret.Redactor
	notes     []string
}

// plan prepares a turn's command. It starts and writes nothing.
func (d Dispatch) plan() (plan, error) {
	at := d.place()
	p := plan{promptArg: -1}
	words, notes, err := d.words(at)
	if err != nil {
		return p, err
	}
	p.notes = notes
	if err := d.environment(at, &p); err != nil {
		return p, err
	}
	if p.dir, err = d.directory(at); err != nil {
		return p, err
	}
	if err := d.fill(at, words[1:], &p); err != nil {
		return p, err
	}
	if strings.Contains(words[0], promptWord) {
		return p, configError("%s.command: the program name contains %s", at, promptWord).WithHint("write the program first: [\"agent\", \"%s\"]", promptWord)
	}
	if p.program, err = find(words[0], p.env, p.dir, d.workDir()); err != nil {
		code := execution.CodeAgentNotInstalled
		if errors.Is(err, fs.ErrPermission) {
			code = execution.CodeSpawn
		}
		return p, execution.Errorf(code, "%s.command: %w", at, err).
			WithHint("install %s, or set another command: drawbar govern config set %s.command '[\"...\"]'", words[0], at)
	}
	return p, nil
}

// place is where the command is declared.
func (d Dispatch) place() string {
	if d.Runtime.Adapter != nil {
		return "adapters." + d.Runtime.Type
	}
	return "runtimes." + d.RuntimeID
}

// words are the program and its arguments, before placeholders are replaced.
func (d Dispatch) words(at string) (words, notes []string, err error) {
	c := d.Runtime.Command
	missing := configError("%s.command is missing", at).WithHint("set it: drawbar govern config set %s.command '[\"agent\", \"%s\"]'", at, promptWord)
	if c.IsZero() {
		return nil, nil, missing
	}
	list := slices.Clone(c.List)
	first := []string{list[0]}
	// A single element may be a whole command line, unless it is a file: its folder may have a space in its name.
	if strings.IndexFunc(list[0], unicode.IsSpace) >= 0 && !d.isFile(list[0]) {
		if first, err = protocol.SplitLine(list[0]); err != nil {
			return nil, nil, configError("%s.command: %v", at, err).WithHint("write it as a list: [\"agent\", \"--flag\", \"value\"]")
		}
	}
	words = append(first, list[1:]...)
	switch {
	case c.String:
		words = append(words, d.Runtime.Args...)
	case len(d.Runtime.Args) > 0:
		notes = append(notes, at+".args is ignored: the command is a list that already contains its arguments")
	}
	if len(words) == 0 || words[0] == "" {
		return nil, nil, missing
	}
	for i, w := range words {
		if strings.ContainsRune(w, 0) {
			return nil, nil, configError("%s.command: word %d contains a NUL character", at, i+1).WithHint("remove it from %s", protocol.ConfigFile)
		}
	}
	return words, notes, nil
}

func (d Dispatch) isFile(path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(d.workDir(), path)
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// fill inserts the prompt.
func (d Dispatch) fill(at string, args []string, p *plan) error {
	holds := slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, promptWord) })
	p.transport = d.Runtime.PromptTransport
	if p.transport == "" {
		p.transport = protocol.TransportBundleOnly
		if holds {
			p.transport = protocol.TransportArgv
		}
	}
	p.args = slices.Clone(args)
	p.masked = p.args
	text := d.text()
	switch p.transport {
	case protocol.TransportArgv:
		if !holds {
			return configError("%s.prompt_transport is argv, but no argument contains %s", at, promptWord).
				WithHint("add %s to the command, or: drawbar govern config set %s.prompt_transport stdin", promptWord, at)
		}
	case protocol.TransportArg:
		if !holds {
			p.args = append(p.args, promptWord)
		}
	case protocol.TransportStdin:
		p.stdin = []byte(text)
		return nil
	case protocol.TransportFile:
		if p.promptArg = slices.IndexFunc(p.args, func(a string) bool { return strings.Contains(a, fileWord) }); p.promptArg < 0 {
			p.args = append(p.args, fileWord)
			p.promptArg = len(p.args) - 1
		}
		p.masked = p.args
		return nil
	case protocol.TransportBundleOnly:
		return nil
	default:
		return configError("%s.prompt_transport is %q", at, p.transport).
			WithHint("use argv, stdin or dispatch_bundle_only (and file or arg in a role of the first edition)")
	}
	if strings.ContainsRune(text, 0) {
		return configError("%s.prompt_transport %s cannot pass a prompt with a NUL character", at, p.transport).
			WithHint("drawbar govern config set %s.prompt_transport stdin", at)
	}
	p.masked = slices.Clone(p.args)
	for i, a := range p.args {
		if !strings.Contains(a, promptWord) {
			continue
		}
		p.masked[i] = strings.ReplaceAll(a, promptWord, fmt.Sprintf("<prompt of %d bytes>", len(text)))
		p.args[i] = strings.ReplaceAll(a, promptWord, text)
		if len(p.args[i]) > mostArgument {
			return configError("%s.prompt_transport %s: the prompt needs an argument of %d bytes, more than the system limit of %d",
				at, p.transport, len(p.args[i]), mostArgument).WithHint("drawbar govern config set %s.prompt_transport stdin (or dispatch_bundle_only)", at)
		}
	}
	return nil
}

// environment is the program's environment: Drawbar's own, the turn's variables, and the runtime's.
func (d Dispatch) environment(at string, p *plan) error {
	p.redact = secret.New(secret.Environ(d.Environ))
	p.env = slices.Clone(d.Environ)
	own, err := d.variables(at, p.redact)
	if err != nil {
		return err
	}
	for name, value := range own.All() {
		p.env = append(p.env, name+"="+value)
	}
	p.env = append(p.env, protocol.TurnVariable+"="+d.Turn.TurnID, "AGENTXCHAIN_DISPATCH_DIR="+d.BundleDir, "AGENTXCHAIN_STAGING_PATH="+d.StagedPath)
	return nil
}

// variables are those that the runtime sets, expanded. Values that come from the environment, or whose names suggest a
// secret, are redacted from everything that is written.
func (d Dispatch) variables(at string, redact *secret.Redactor) (protocol.Ordered[string], error) {
	var own protocol.Ordered[string]
	lookup := procenv.Of(d.Environ).Or(procenv.Getenv(d.Getenv))
	var faults []string
	for name, value := range d.Runtime.Env.All() {
		v, missing := procenv.Expand(value, lookup)
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return own, configError("%s.env: %q is not a valid variable name", at, name).WithHint("remove it from %s", protocol.ConfigFile)
		case len(missing) > 0:
			faults = append(faults, (&procenv.MissingError{Where: at + ".env." + name, Names: missing}).Error())
		case strings.ContainsRune(v, 0):
			return own, configError("%s.env.%s contains a NUL character", at, name).WithHint("remove it from %s", protocol.ConfigFile)
		}
		if v != value {
			redact.Add(v)
		}
		redact.Add(secret.Variable(name, v)...)
		own.Set(name, v)
	}
	if len(faults) > 0 {
		return own, configError("%s", strings.Join(faults, "; ")).WithHint("export the variable and try again")
	}
	return own, nil
}

// directory is where the program runs: inside the project.
func (d Dispatch) directory(at string) (string, error) {
	base := d.workDir()
	dir := d.Runtime.CWD
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(base, filepath.FromSlash(dir))
	}
	hint := "choose a folder in the project: drawbar govern config set " + at + ".cwd ."
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", configError("%s.cwd: %v", at, err).WithHint("%s", hint)
	}
	realBase, err := filepath.EvalSymlinks(base)
	if err != nil {
		return "", configError("the project's folder: %v", err).WithHint("%s", hint)
	}
	if rel, err := filepath.Rel(realBase, real); err != nil || !filepath.IsLocal(rel) {
		return "", configError("%s.cwd: %s is outside %s", at, d.Runtime.CWD, base).WithHint("%s", hint)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", configError("%s.cwd: %s is not a folder", at, dir).WithHint("%s", hint)
	}
	return real, nil
}

// find locates the program's file: on its PATH, or relative to where it runs or to the project.
func find(command string, env []string, dirs ...string) (string, error) {
	var first error
	for _, dir := range dirs {
		path, err := lookpath.In(env, dir, command)
		if err == nil {
			return path, nil
		}
		if first == nil {
			first = err
		}
	}
	return "", first
}

func configError(format string, args ...any) *execution.Error {
	return execution.Errorf(execution.CodeConfig, format, args...)
}
