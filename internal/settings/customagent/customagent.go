// Package customagent decides which agents of the configuration may be used: a project's need trust, and no agent may take
// the name of a built-in one or run Drawbar itself. It starts nothing and asks nobody.
package customagent

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/external"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declarative"
	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/lookpath"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/internal/settings/trust"
)

// Load returns the custom agents of a configuration, those that are refused, and how external adapters are found. It reads the trust
// store only if it is needed.
func Load(cfg *config.Config, store trust.Store) catalog.Declared {
	find := finder{dirs: cfg.Dirs(), remotes: map[string]external.Remote{}}
	d := catalog.Declared{Refused: map[string]error{}, Finder: find}
	have := map[string]bool{}
	for _, a := range cfg.CustomAgents() {
		if have[a.Name] {
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s: agent %s is ignored: your own configuration has one of this name", a.File, a.Name))
			continue
		}
		if taken(a.Name) && a.Scope == config.ScopeProject {
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s: agent %s is ignored: a built-in agent has this name", a.File, a.Name))
			continue
		}
		have[a.Name] = true
		if err := Check(a); err != nil {
			d.Refused[a.Name] = err
			continue
		}
		root, items := Items(cfg, a)
		if err := store.Check(root, items); err != nil {
			d.Refused[a.Name] = err
			continue
		}
		if a.Entry.IsRemote() {
			find.remotes[a.Name] = remote(a)
			continue
		}
		if a.Entry.IsAPI() {
			d.Agents = append(d.Agents, hosted(a))
			continue
		}
		d.Agents = append(d.Agents, declarative.Describe(a.Name, Resolved(a)))
	}
	return d
}

// remote is the agent of an entry that another Drawbar runs.
func remote(a config.CustomAgent) external.Remote {
	e := Resolved(a)
	r := external.Remote{Name: a.Name, DisplayName: e.DisplayName, Docs: e.Docs, Command: e.Command, Directory: e.Directory, Env: e.Environment, Notes: e.Notes}
	if e.SSH != nil {
		r.Host, r.Port = e.SSH.Host, e.SSH.Port
	}
	return r
}

// finder finds agents behind another Drawbar, and external adapters outside the project: the configuration's, or else the repository.
// The programs in a home directory are the user's, also when it is a project. It looks at nothing before it is asked, because most
// commands never ask.
type finder struct {
	dirs    config.Dirs
	remotes map[string]external.Remote
}

func (f finder) Find(name string) (adapter.Descriptor, error) {
	if r, ok := f.remotes[name]; ok {
		return r.Find(context.Background(), host())
	}
	return f.search().Find(name)
}

func (f finder) List() (found []adapter.Descriptor, passed []string) {
	programs, passed := f.search().List()
	for _, name := range slices.Sorted(maps.Keys(f.remotes)) {
		found = append(found, f.remotes[name].Listed())
	}
	for _, d := range programs {
		if _, have := f.remotes[d.Name]; have {
			passed = append(passed, d.Command+" is not used: the name "+d.Name+" belongs to an agent of the configuration")
			continue
		}
		found = append(found, d)
	}
	return found, passed
}

func host() adapter.Host { return oshost.New(cliagent.Spawn) }

func (f finder) search() external.Search {
	s := external.Search{Host: host(), Environ: os.Environ()}
	if f.dirs.Found {
		s.Project = f.dirs.Root
	}
	for dir := f.dirs.Root; s.Project == "" && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			s.Project = dir
		}
	}
	if s.Project != "" && same(s.Project, s.Host.Home) {
		s.Project = ""
	}
	return s
}

// Check refuses an agent with the name of a built-in one, and one that runs Drawbar itself or a file of whatever directory
// is current.
func Check(a config.CustomAgent) error {
	fault := func(format string, args ...any) *execution.Error {
		e := execution.Errorf(execution.CodeConfig, "%s: customAgents.%s "+format, append([]any{a.File, a.Name}, args...)...)
		e.Agent = a.Name
		return e
	}
	if taken(a.Name) {
		return fault("has the name of a built-in agent").
			WithHint("give it another name: drawbar agents export %s > FILE, then drawbar agents add OTHER --file FILE and drawbar agents remove %s", a.Name, a.Name)
	}
	if a.Entry.IsAPI() {
		return nil
	}
	program := a.Entry.Command[0]
	relative := strings.ContainsAny(program, `/\`) && !filepath.IsAbs(program)
	switch {
	case relative && a.Scope != config.ScopeProject:
		return fault("runs %s, which is another file in each directory", program).WithHint("write an absolute path, or a name on PATH")
	case relative && !filepath.IsLocal(filepath.FromSlash(program)):
		return fault("runs %s, which is outside the project", program).WithHint("name a file of the project, or a program on PATH")
	}
	if self, err := os.Executable(); err == nil {
		if found, err := lookpath.In(os.Environ(), "", Resolved(a).Command[0]); err == nil && same(self, found) {
			if words := a.Entry.Command[1:]; a.Entry.IsRemote() && len(words) == 3 && words[0] == "agents" &&
				(words[1] == "connect" || words[1] == "serve" && words[2] != a.Name) {
				return nil
			}
			hint := "name the agent's own program: drawbar agents edit %s"
			if a.Entry.IsRemote() {
				hint = "write drawbar agents serve AGENT, with an agent that is not itself behind another Drawbar, or drawbar agents connect URL: drawbar agents edit %s"
			}
			return fault("runs Drawbar itself").WithHint(hint, a.Name)
		}
	}
	return nil
}

func same(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// Resolved returns the entry with the absolute path of a program of the project.
func Resolved(a config.CustomAgent) declarative.Entry {
	e := a.Entry
	if e.IsAPI() {
		return e
	}
	if program := e.Command[0]; a.Root != "" && strings.ContainsAny(program, `/\`) && !filepath.IsAbs(program) {
		e.Command = append([]string{filepath.Join(a.Root, filepath.FromSlash(program))}, e.Command[1:]...)
	}
	return e
}

// Items returns what must be trusted before an agent may run, and the project: the whole entry for an agent of the project, and
// for the user's own agent a program that lies in the project.
func Items(cfg *config.Config, a config.CustomAgent) (root string, items []trust.Item) {
	root = cfg.Dirs().Root
	if a.Scope != config.ScopeProject {
		if a.Entry.IsAPI() {
			return root, nil
		}
		program := a.Entry.Command[0]
		if rel, err := filepath.Rel(root, program); !cfg.Dirs().Found || !filepath.IsAbs(program) || err != nil || !filepath.IsLocal(rel) {
			return root, nil
		}
		return root, []trust.Item{trust.New(root, root, a.File, config.CustomAgents+"."+a.Name, trust.Quote(a.Entry.Command), a.Entry.Command...)}
	}
	file := a.File
	if rel, err := filepath.Rel(root, a.File); err == nil {
		file = filepath.ToSlash(rel)
	}
	// The whole entry decides what runs: arguments of options, variables, the command of the login.
	return root, []trust.Item{trust.New(root, root, file, config.CustomAgents+"."+a.Name, string(a.Text), a.Entry.Command...)}
}

// AllItems returns the items of every custom agent.
func AllItems(cfg *config.Config) (items []trust.Item) {
	for _, a := range cfg.CustomAgents() {
		_, some := Items(cfg, a)
		items = append(items, some...)
	}
	return items
}

// taken reports whether a built-in agent has a name or an alias.
func taken(name string) bool {
	return slices.ContainsFunc(adapter.Builtins(), func(d adapter.Descriptor) bool {
		return d.Name == name || slices.Contains(d.Aliases, name)
	})
}
