package config

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// Profile describes a profile by name (agent-mux specification, ProfileEntry).
type Profile struct {
	Name              string `json:"name"`
	Scope             Scope  `json:"scope"`                       // user or project; project when both have it
	HasGlobalOverride bool   `json:"hasGlobalOverride,omitempty"` // the project's is laid over one of the user
	Agent             string `json:"agent,omitempty"`
	Model             string `json:"model,omitempty"`
	Corrupt           string `json:"corrupt,omitempty"` // why it cannot be used
	GlobalPath        string `json:"globalPath,omitempty"`
	ProjectPath       string `json:"projectPath,omitempty"`
}

// ProfileData is a profile with the options it stands for.
type ProfileData struct {
	Profile
	Data    execution.RunOptions `json:"data"`
	Loosens []string             `json:"loosens,omitempty"` // what the project's file allows that the user's does not
}

// notInProfile are the options of one run, which a profile cannot have.
var notInProfile = []string{"runId", "sessionId", "forkSessionId", "noSession", "cwd", "env", "projectId", "profile", "agentsDoc", "interactive",
	"nonInteractive", "collectEvents"}

// NotInProfile are the options that a profile cannot have.
func NotInProfile() []string { return slices.Clone(notInProfile) }

// IsProfileName reports 1 to 64 letters, digits, - or _.
func IsProfileName(name string) bool {
	if name == "" || len(name) > 64 {
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
}

// Profiles are named options of runs: files in profiles/ of the user's and of the project's directory. What the project says
// goes over what the user says. It is safe for concurrent use.
type Profiles struct{ Dirs Dirs }

// Path is where a profile of a scope is kept.
func (p Profiles) Path(scope Scope, name string) string {
	dir := p.Dirs.User
	if scope == ScopeProject {
		dir = p.Dirs.Project
	}
	return filepath.Join(dir, "profiles", name+".json")
}

// List are the profiles of a scope, or with the empty scope of both, sorted by name. One that cannot be read is in the
// list and says why.
func (p Profiles) List(scope Scope) ([]Profile, error) {
	names := map[string]bool{}
	for _, s := range []Scope{ScopeUser, ScopeProject} {
		if scope != "" && scope != s {
			continue
		}
		dir := filepath.Dir(p.Path(s, "x"))
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fileError(dir, "%v", pathless(err))
		}
		for _, e := range entries {
			if name, ok := strings.CutSuffix(e.Name(), ".json"); ok && IsProfileName(name) {
				names[name] = true
			}
		}
	}
	list := []Profile{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		d, err := p.show(name, scope)
		if err != nil {
			d.Corrupt = err.Error()
		}
		list = append(list, d.Profile)
	}
	return list, nil
}

// Show gives a profile with both scopes put together. The error is PROFILE_NOT_FOUND, or CONFIG_ERROR with the file that
// cannot be used.
func (p Profiles) Show(name string) (ProfileData, error) {
	if !IsProfileName(name) {
		return ProfileData{}, execution.Errorf(execution.CodeValidation, "%q is no name of a profile", name).WithHint("1 to 64 letters, digits, - or _")
	}
	return p.show(name, "")
}

func (p Profiles) show(name string, scope Scope) (ProfileData, error) {
	d := ProfileData{Profile: Profile{Name: name}}
	merged := Options{}
	var failed error
	for _, s := range []Scope{ScopeUser, ScopeProject} {
		if scope != "" && scope != s {
			continue
		}
		path := p.Path(s, name)
		raw, err := readProfile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if s == ScopeProject {
			d.ProjectPath, d.HasGlobalOverride, d.Scope = path, d.GlobalPath != "", ScopeProject
		} else {
			d.GlobalPath, d.Scope = path, ScopeUser
		}
		if err != nil {
			failed = err
			continue
		}
		if s == ScopeProject {
			d.Loosens = loosens(raw)
		}
		merged.Lay(raw)
	}
	if d.Scope == "" {
		return d, p.notFound(name)
	}
	if failed != nil {
		return d, failed
	}
	var err error
	if d.Data, err = merged.Decode(); err != nil {
		return d, execution.Errorf(execution.CodeConfig, "profile %s: %w", name, err)
	}
	d.Agent, d.Model = d.Data.Agent, d.Data.Model
	return d, nil
}

func (p Profiles) notFound(name string) error {
	e := execution.Errorf(execution.CodeProfileNotFound, "there is no profile %q", name)
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

// loosens is what a project's profile allows: a person who trusts his own profile of that name must be told.
func loosens(raw map[string]json.RawMessage) []string {
	var list []string
	if string(raw["approvalMode"]) == `"yolo"` {
		list = append(list, "approvalMode yolo")
	}
	if string(raw["sandbox"]) == `"none"` {
		list = append(list, "sandbox none")
	}
	if raw["mcpServers"] != nil {
		list = append(list, "MCP servers")
	}
	return list
}

// readProfile reads and checks one file.
func readProfile(path string) (map[string]json.RawMessage, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, fileError(path, "%v", pathless(err)).WithHint("make it readable, or remove it")
	}
	standard, err := standardize(data)
	if err != nil {
		return nil, fileError(path, "%v", err).WithHint("mend the file, or remove it")
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(standard, &raw); err != nil {
		return nil, fileError(path, "want an object: %v", err)
	}
	delete(raw, "$schema")
	if err := checkProfile(raw); err != nil {
		return nil, fileError(path, "%v", err).WithHint("mend the file, or remove it")
	}
	return raw, nil
}

// checkProfile refuses what a profile cannot have, and values that no run could have.
func checkProfile(o Options) error {
	for _, key := range notInProfile {
		if _, ok := o[key]; ok {
			return execution.Errorf(execution.CodeValidation, "%s belongs to one run, a profile cannot have it", key)
		}
	}
	run, err := o.Decode()
	if err != nil {
		return err
	}
	return run.Validate()
}

// Encode checks the options of a profile and gives the text of its file.
func (p Profiles) Encode(name string, o Options) ([]byte, error) {
	if !IsProfileName(name) {
		return nil, execution.Errorf(execution.CodeValidation, "%q is no name of a profile", name).WithHint("1 to 64 letters, digits, - or _")
	}
	if err := checkProfile(o); err != nil {
		return nil, execution.Errorf(execution.CodeValidation, "profile %s: %w", name, err)
	}
	b, err := json.MarshalIndent(o, "", "  ")
	return append(b, '\n'), err
}

// Scope chooses where a profile is written when nobody says: in the project when there is one.
func (p Profiles) Scope() Scope {
	if p.Dirs.Found && !sameFile(p.Dirs.User, p.Dirs.Project) {
		return ScopeProject
	}
	return ScopeUser
}

// Delete removes a profile of a scope, or with the empty scope the one that counts: the project's before the user's.
func (p Profiles) Delete(name string, scope Scope) (string, error) {
	if !IsProfileName(name) {
		return "", execution.Errorf(execution.CodeValidation, "%q is no name of a profile", name)
	}
	for _, s := range []Scope{ScopeProject, ScopeUser} {
		if scope != "" && scope != s {
			continue
		}
		path := p.Path(s, name)
		err := os.Remove(path)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fileError(path, "%v", pathless(err))
		}
	}
	return "", p.notFound(name)
}

// Apply is the options of a profile under those that are stated.
func (p Profiles) Apply(name string, over execution.RunOptions) (execution.RunOptions, error) {
	d, err := p.Show(name)
	if err != nil {
		return over, err
	}
	under, err := Of(d.Data)
	if err != nil {
		return over, err
	}
	stated, err := Of(over)
	if err != nil {
		return over, err
	}
	under.Lay(stated)
	return under.Decode()
}
