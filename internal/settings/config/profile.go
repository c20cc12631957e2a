package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/exactjson"
)

// Profile describes a profile by name (agent-mux specification, ProfileEntry).
type Profile struct {
	Name              string `json:"name"`                        // the name to type: project/NAME for a project's profile if the user has one of that name
	Scope             Scope  `json:"scope"`                       // its scope
	HasGlobalOverride bool   `json:"hasGlobalOverride,omitempty"` // of a project's profile: hidden by the user's profile of the same name
	Agent             string `json:"agent,omitempty"`
	Model             string `json:"model,omitempty"`
	Corrupt           string `json:"corrupt,omitempty"` // why it cannot be used
	GlobalPath        string `json:"globalPath,omitempty"`
	ProjectPath       string `json:"projectPath,omitempty"`
}

// ProfileData is a profile and its options.
type ProfileData struct {
	Profile
	Data    execution.RunOptions `json:"data"`
	Ignored []string             `json:"ignored,omitempty"` // options of a project's file that allow more than the user does
	Also    string               `json:"also,omitempty"`    // the project's profile of the same name, if this is the user's
	Stated  Options              `json:"-"`                 // Data with stated options distinguishable from unstated ones
}

// inProject prefixes the name of a project's profile.
const inProject = "project/"

// IsProfileName reports whether a name has 1 to 64 letters, digits, - or _.
func IsProfileName(name string) bool {
	if name == "" || len(name) > 64 {
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
}

// Profiles are named options of runs: files in profiles/ of the user's and of the project's directory. A name
// that both have means the user's profile; project/NAME means the project's. Profiles is safe for concurrent
// use.
type Profiles struct {
	Dirs   Dirs
	config *Config // whose limits apply to a project's profile; nil reads the user's file
}

// Path returns the file of a profile in a scope.
func (p Profiles) Path(scope Scope, name string) string {
	dir := p.Dirs.User
	if scope == ScopeProject {
		dir = p.Dirs.Project
	}
	return filepath.Join(dir, "profiles", name+".json")
}

// List returns the profiles of a scope, or of both if it is empty, sorted by name. An unreadable profile is
// listed with the reason.
func (p Profiles) List(scope Scope) ([]Profile, error) {
	list := []Profile{}
	mine := map[string]bool{}
	for _, s := range []Scope{ScopeUser, ScopeProject} {
		if s == ScopeProject && p.Dirs.OneDirectory() {
			continue
		}
		dir := filepath.Dir(p.Path(s, "x"))
		var entries []fs.DirEntry
		if isDir(dir) {
			var err error
			if entries, err = os.ReadDir(dir); err != nil {
				return nil, fileError(dir, "%v", pathless(err))
			}
		}
		for _, e := range entries {
			name, ok := strings.CutSuffix(e.Name(), ".json")
			if !ok || !IsProfileName(name) {
				continue
			}
			if s == ScopeUser {
				mine[name] = true
			}
			if scope != "" && scope != s {
				continue
			}
			d, err := p.of(s, name, "", mine[name])
			if errors.Is(err, fs.ErrNotExist) {
				continue // removed meanwhile, or another user's
			}
			if err != nil {
				d.Corrupt = err.Error()
			}
			list = append(list, d.Profile)
		}
	}
	slices.SortStableFunc(list, func(a, b Profile) int {
		return strings.Compare(strings.TrimPrefix(a.Name, inProject), strings.TrimPrefix(b.Name, inProject))
	})
	return list, nil
}

// Show returns the profile that a name refers to: the user's, else the project's; project/NAME is the
// project's. The error is PROFILE_NOT_FOUND, or CONFIG_ERROR with the file that cannot be used.
func (p Profiles) Show(name string) (ProfileData, error) { return p.For(name, "") }

// For is Show for a run of an agent; empty is the profile's own. The rules of a project's configuration apply
// to its profiles: limits apply if they are tighter than the user's for that agent.
func (p Profiles) For(name, agent string) (ProfileData, error) {
	scopes, plain, err := p.meant(name)
	if err != nil {
		return ProfileData{}, err
	}
	for _, s := range scopes {
		d, err := p.of(s, plain, agent, len(scopes) == 1)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && agent != "" && d.Agent != "" && d.Agent != agent {
			return d, execution.Errorf(execution.CodeValidation, "profile %s is for %s, and the agent is %s", d.Name, d.Agent, agent).
				WithHint("drawbar run %s --profile %s, or another profile", d.Agent, d.Name)
		}
		if s == ScopeUser && !p.Dirs.OneDirectory() {
			if _, err := p.read(ScopeProject, plain); !errors.Is(err, fs.ErrNotExist) {
				d.Also = p.Path(ScopeProject, plain)
			}
		}
		return d, err
	}
	return ProfileData{Profile: Profile{Name: name}}, p.notFound(name)
}

// meant returns the scopes to search for a name, and the name in them.
func (p Profiles) meant(name string) ([]Scope, string, error) {
	plain, only := strings.CutPrefix(name, inProject)
	if !IsProfileName(plain) {
		return nil, "", execution.Errorf(execution.CodeValidation, "%q is not a valid profile name", name).WithHint("1 to 64 letters, digits, - or _")
	}
	switch {
	case p.Dirs.OneDirectory():
		return []Scope{ScopeUser}, plain, nil
	case only:
		return []Scope{ScopeProject}, plain, nil
	}
	return []Scope{ScopeUser, ScopeProject}, plain, nil
}

// of reads one profile. shadowed says that the project's profile must be requested as project/NAME.
func (p Profiles) of(s Scope, name, agent string, shadowed bool) (ProfileData, error) {
	d := ProfileData{Profile: Profile{Name: name, Scope: s, GlobalPath: p.Path(s, name)}}
	if s == ScopeProject {
		d.GlobalPath, d.ProjectPath, d.HasGlobalOverride = "", p.Path(s, name), shadowed
		if shadowed {
			d.Name = inProject + name
		}
	}
	o, err := p.read(s, name)
	if err != nil {
		return d, err
	}
	if s == ScopeProject {
		var stated string
		_ = json.Unmarshal(o["agent"], &stated) // checked when it was read
		user, err := p.limits(cmp.Or(agent, stated))
		if err != nil {
			return d, err
		}
		o, d.Ignored = narrow(o, user, p.Path(s, name))
	}
	if d.Data, err = o.Decode(); err != nil {
		return d, execution.Errorf(execution.CodeConfig, "profile %s: %w", name, err)
	}
	d.Agent, d.Model, d.Stated = d.Data.Agent, d.Data.Model, o
	return d, nil
}

// limits returns the user's options for an agent.
func (p Profiles) limits(agent string) (Options, error) {
	if p.config != nil {
		return p.config.user(agent, ScopeUser, ScopeEnvironment), nil
	}
	l, err := p.Dirs.readLayer(ScopeUser)
	if err != nil {
		return nil, err
	}
	return l.options(agent), nil
}

func (p Profiles) notFound(name string) error {
	e := execution.Errorf(execution.CodeProfileNotFound, "profile %q does not exist", name)
	list, err := p.List("")
	if err != nil || len(list) == 0 {
		return e.WithHint("drawbar profiles set %s --model ...", name)
	}
	names := make([]string, len(list))
	for i, l := range list {
		names[i] = l.Name
	}
	return e.WithHint("drawbar profiles list: %s", strings.Join(names, ", "))
}

// read reads and validates one file. A missing file is fs.ErrNotExist.
func (p Profiles) read(s Scope, name string) (Options, error) {
	path := p.Path(s, name)
	data, err := p.Dirs.ReadFile(s, "profiles/"+name+".json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, fileError(path, "%v", pathless(err)).WithHint("replace it with a readable regular file, or remove it")
	}
	standard, err := standardize(data)
	if err != nil {
		return nil, fileError(path, "%v", err).WithHint("correct the file, or remove it")
	}
	o, err := decodeProfile(s, path, standard)
	if _, ok := errors.AsType[*execution.Error](err); err != nil && !ok {
		return nil, fileError(path, "%v", err).WithHint("correct the file, or remove it")
	}
	return o, err
}

// decodeProfile parses a profile and refuses options that its scope cannot have.
func decodeProfile(s Scope, path string, text []byte) (Options, error) {
	if err := exactjson.Keys(text); err != nil {
		return nil, err
	}
	o := Options{}
	if err := json.Unmarshal(text, &o); err != nil || o == nil {
		return nil, errors.New("want an object")
	}
	delete(o, "$schema")
	if err := checkProfile(o); err != nil {
		return nil, fileError(path, "%v", err).WithHint("correct the file, or remove it")
	}
	if s != ScopeProject {
		return o, nil
	}
	return o, (&layer{path: path}).refuse("", o)
}

// checkProfile refuses options that a profile cannot have, and values that no run could have.
func checkProfile(o Options) error {
	for row := range execution.Options() {
		if _, ok := o[row.Name]; ok && !row.In(execution.ReachProfile) {
			return execution.Errorf(execution.CodeValidation, "a profile cannot have %s: it belongs to a single run", row.Name)
		}
	}
	run, err := o.Decode()
	if err != nil {
		return err
	}
	return run.Validate()
}

// Encode validates the options of a profile for a scope and returns the text of its file.
func (p Profiles) Encode(s Scope, name string, o Options) ([]byte, error) {
	if !IsProfileName(name) {
		return nil, execution.Errorf(execution.CodeValidation, "%q is not a valid profile name", name).WithHint("1 to 64 letters, digits, - or _")
	}
	if err := checkProfile(o); err != nil {
		return nil, execution.Errorf(execution.CodeValidation, "profile %s: %w", name, err)
	}
	b, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return nil, err
	}
	_, err = decodeProfile(s, p.Path(s, name), b)
	return append(b, '\n'), err
}

// Scope returns the default scope for new profiles: the project if there is one.
func (p Profiles) Scope() Scope {
	if p.Dirs.Found && !p.Dirs.OneDirectory() {
		return ScopeProject
	}
	return ScopeUser
}

// Delete removes the profile that a name refers to; a stated scope limits the search.
func (p Profiles) Delete(name string, scope Scope) (string, error) {
	scopes, plain, err := p.meant(name)
	if err != nil {
		return "", err
	}
	for _, s := range scopes {
		if scope != "" && scope != s {
			continue
		}
		path := p.Path(s, plain)
		err := p.remove(s, plain)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fileError(path, "%v", pathless(err))
		}
	}
	return "", p.notFound(name)
}

// remove removes a file; a project's file only if no link leads out of the project.
func (p Profiles) remove(s Scope, name string) error {
	path := p.Path(s, name)
	if s != ScopeProject {
		return os.Remove(path)
	}
	if _, err := p.read(s, name); errors.Is(err, fs.ErrNotExist) {
		return err
	}
	root, err := os.OpenRoot(p.Dirs.Root)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // the file is gone, or the error is known
	rel, err := filepath.Rel(p.Dirs.Root, path)
	if err != nil {
		return err
	}
	return root.Remove(rel)
}

// Apply applies a profile below the stated options. A profile for another agent is a VALIDATION_ERROR.
func (p Profiles) Apply(name string, over execution.RunOptions) (execution.RunOptions, error) {
	d, err := p.For(name, over.Agent)
	if err != nil {
		return over, err
	}
	stated, err := Of(over)
	if err != nil {
		return over, err
	}
	d.Stated.Lay(stated)
	return d.Stated.Decode()
}
