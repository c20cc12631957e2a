package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// machine is a host with programs that answer by script; what it ran is kept.
type machine struct {
	programs map[string]bool // on PATH
	answers  map[string]adapter.SpawnOutcome
	ran      []string
	agent    string // version of the agent that PATH finds, empty for none
	npm      string // version that an npm installation brings
}

func (m *machine) host(platform string) adapter.Host {
	return adapter.Host{Platform: platform,
		LookPath: func(name string) (string, error) {
			if name == "full" && m.agent != "" || m.programs[name] {
				return "/bin/" + name, nil
			}
			return "", fs.ErrNotExist
		},
		Spawn: func(ctx context.Context, c adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
			line := typed(append([]string{strings.TrimPrefix(c.Command, "/bin/")}, c.Args...))
			m.ran = append(m.ran, line)
			if out, ok := m.answers[line]; ok {
				return out, nil
			}
			switch {
			case strings.HasPrefix(line, "npm install"):
				m.agent = m.npm
			case strings.HasPrefix(line, "npm uninstall"):
				m.agent = ""
			case strings.HasPrefix(line, "npm ls"):
				return adapter.SpawnOutcome{Stdout: fmt.Sprintf(`{"dependencies":{"@x/full":{"version":%q}}}`, m.npm)}, nil
			case strings.HasPrefix(line, "hang"):
				<-ctx.Done()
				return adapter.SpawnOutcome{}, context.Cause(ctx)
			}
			return adapter.SpawnOutcome{}, nil
		}}
}

func (m *machine) registry(platform string, methods ...adapter.InstallMethod) *Registry {
	d := describe("full", probing(func(context.Context, adapter.Host) (adapter.Installation, error) {
		return adapter.Installation{Installed: m.agent != "", Path: "/bin/full", Version: m.agent}, nil
	}))
	d.MinVersion, d.TestedVersions = "1.5.0", []string{"2.0.0", "1.9.0"}
	d.Install = methods
	return NewRegistry([]adapter.Descriptor{d}, m.host(platform))
}

var (
	npmMethod    = adapter.InstallMethod{Platform: "all", Type: "npm", Package: "@x/full", Command: "npm install -g @x/full@2.0.0", PrerequisiteCheck: "npm --version"}
	brewMethod   = adapter.InstallMethod{Platform: "darwin", Type: "brew", Package: "--cask full", Command: "brew install --cask full"}
	wingetMethod = adapter.InstallMethod{Platform: "windows", Type: "winget", Package: "X.Full", Command: "winget install X.Full"}
	pipMethod    = adapter.InstallMethod{Platform: "all", Type: "pip", Package: "full", Command: "pip install full"}
	scriptMethod = adapter.InstallMethod{Platform: "linux", Type: "script", Command: "curl https://x.test/i.sh | sh"}
	manualMethod = adapter.InstallMethod{Platform: "all", Type: "manual", Notes: "see the site"}
)

func TestInstallCommands(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		platform string
		method   adapter.InstallMethod
		action   action
		opts     adapter.InstallOptions
		want     string // the command, or ! and a part of the error
	}{
		{"npm pins the tested version", "linux", npmMethod, actionInstall, adapter.InstallOptions{}, "npm install -g --no-fund --no-audit @x/full@2.0.0"},
		{"npm takes a version", "linux", npmMethod, actionInstall, adapter.InstallOptions{Version: "1.9.0"}, "npm install -g --no-fund --no-audit @x/full@1.9.0"},
		{"npm quotes a range", "linux", npmMethod, actionInstall, adapter.InstallOptions{Version: ">=1"}, "npm install -g --no-fund --no-audit '@x/full@>=1'"},
		{"npm update", "linux", npmMethod, actionUpdate, adapter.InstallOptions{}, "npm install -g --no-fund --no-audit @x/full@2.0.0"},
		{"npm uninstall", "linux", npmMethod, actionUninstall, adapter.InstallOptions{}, "npm uninstall -g @x/full"},
		{"brew", "darwin", brewMethod, actionInstall, adapter.InstallOptions{}, "brew install --cask full"},
		{"brew update", "darwin", brewMethod, actionUpdate, adapter.InstallOptions{}, "brew upgrade --cask full"},
		{"brew uninstall", "darwin", brewMethod, actionUninstall, adapter.InstallOptions{}, "brew uninstall --cask full"},
		{"brew takes no version", "darwin", brewMethod, actionInstall, adapter.InstallOptions{Version: "1.9.0"}, "!does not accept a version"},
		{"winget", "windows", wingetMethod, actionInstall, adapter.InstallOptions{}, "winget install --exact --id X.Full --version 2.0.0"},
		{"winget uninstall", "windows", wingetMethod, actionUninstall, adapter.InstallOptions{}, "winget uninstall --exact --id X.Full"},
		{"pip", "linux", pipMethod, actionInstall, adapter.InstallOptions{}, "pip install full==2.0.0"},
		{"pip uninstall", "linux", pipMethod, actionUninstall, adapter.InstallOptions{}, "pip uninstall --yes full"},
		{"script", "linux", scriptMethod, actionInstall, adapter.InstallOptions{}, "sh -c 'curl https://x.test/i.sh | sh'"},
		{"script takes no version", "linux", scriptMethod, actionInstall, adapter.InstallOptions{Version: "1.9.0"}, "!does not accept a version"},
		{"script uninstall", "linux", scriptMethod, actionUninstall, adapter.InstallOptions{}, "!by hand"},
		{"another platform", "linux", brewMethod, actionInstall, adapter.InstallOptions{}, "!no command can do this on linux"},
		{"manual", "linux", manualMethod, actionInstall, adapter.InstallOptions{}, "!no command can do this on linux"},
		{"no such method", "linux", npmMethod, actionInstall, adapter.InstallOptions{Method: "brew"}, `!no method "brew"`},
		{"an option for a version", "linux", npmMethod, actionInstall, adapter.InstallOptions{Version: "--force"}, "!is not a valid version"},
		{"a command in a version", "linux", npmMethod, actionInstall, adapter.InstallOptions{Version: "1;rm"}, "!is not a valid version"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &machine{programs: map[string]bool{"npm": true, "brew": true, "winget": true, "pip": true, "sh": true}}
			if tt.action != actionInstall {
				m.agent = "1.6.0"
			}
			tt.opts.DryRun = true
			res, err := m.registry(tt.platform, tt.method).change(t.Context(), "full", tt.action, tt.opts)
			if part, ok := strings.CutPrefix(tt.want, "!"); ok {
				if err == nil || !strings.Contains(err.Error(), part) || res.OK {
					t.Fatalf("got %+v, %v; want an error with %q", res, err, part)
				}
			} else if err != nil || !res.OK || !res.DryRun || res.Command != tt.want || res.Method != tt.method.Type {
				t.Fatalf("got %+v, %v; want %q", res, err, tt.want)
			}
			if slices.ContainsFunc(m.ran, func(c string) bool { return !strings.HasSuffix(c, "--version") }) {
				t.Errorf("a dry run ran %q", m.ran)
			}
		})
	}
}

func TestInstallChoosesWhatTheMachineHas(t *testing.T) {
	t.Parallel()
	node := npmMethod
	node.Requires = []adapter.Requirement{{Command: "node", MinVersion: "22.0.0"}}
	old := map[string]adapter.SpawnOutcome{"node --version": {Stdout: "v20.20.2\n"}}
	for _, tt := range []struct {
		name     string
		programs string
		answers  map[string]adapter.SpawnOutcome
		opts     adapter.InstallOptions
		want     string // method, or ! and a part of the error
	}{
		{"npm before pip", "npm node pip", nil, adapter.InstallOptions{}, "npm"},
		{"pip where there is no npm", "pip", nil, adapter.InstallOptions{}, "pip"},
		{"the asked one", "npm node pip", nil, adapter.InstallOptions{Method: "pip"}, "pip"},
		{"nothing", "", nil, adapter.InstallOptions{}, "!no npm on PATH; no pip on PATH"},
		{"node too old", "npm node", old, adapter.InstallOptions{Method: "npm"}, "!node 22.0.0 or newer, and /bin/node is 20.20.2"},
		{"node too old, another way", "npm node pip", old, adapter.InstallOptions{}, "pip"},
		{"node too old, forced", "npm node", old, adapter.InstallOptions{Force: true}, "npm"},
		{"no node", "npm", nil, adapter.InstallOptions{Method: "npm"}, "!needs node 22.0.0"},
		{"a broken npm", "npm node", map[string]adapter.SpawnOutcome{"npm --version": {Code: 1}}, adapter.InstallOptions{Method: "npm"}, "!npm --version exits with code 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &machine{programs: map[string]bool{}, answers: tt.answers, npm: "2.0.0"}
			for p := range strings.FieldsSeq(tt.programs) {
				m.programs[p] = true
			}
			res, err := m.registry("linux", node, pipMethod).Install(t.Context(), "full", tt.opts)
			if part, ok := strings.CutPrefix(tt.want, "!"); ok {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Fatalf("got %+v, %v; want an error with %q", res, err, part)
				}
				if slices.ContainsFunc(m.ran, func(c string) bool { return strings.Contains(c, "install") }) {
					t.Errorf("it ran %q", m.ran)
				}
				return
			}
			if err != nil || !res.OK || res.Method != tt.want {
				t.Fatalf("got %+v, %v; want %s", res, err, tt.want)
			}
		})
	}
}

func TestInstallKnowsWhatIsThere(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		there   string
		action  action
		opts    adapter.InstallOptions
		runs    bool
		message string
		code    execution.ErrorCode
	}{
		{"installed", "1.6.0", actionInstall, adapter.InstallOptions{}, false, "1.6.0 is already installed", ""},
		{"installed, too old", "1.0.0", actionInstall, adapter.InstallOptions{}, true, "", ""},
		{"installed, forced", "2.0.0", actionInstall, adapter.InstallOptions{Force: true}, true, "", ""},
		{"installed, another version", "2.0.0", actionInstall, adapter.InstallOptions{Version: "1.9.0"}, true, "", ""},
		{"update", "1.6.0", actionUpdate, adapter.InstallOptions{}, true, "", ""},
		{"update of the newest", "2.0.0", actionUpdate, adapter.InstallOptions{}, false, "newest tested version", ""},
		{"update of a newer one", "3.0.0", actionUpdate, adapter.InstallOptions{}, false, "left as it is", ""},
		{"update to an older one", "3.0.0", actionUpdate, adapter.InstallOptions{Version: "1.9.0"}, true, "", ""},
		{"update of nothing", "", actionUpdate, adapter.InstallOptions{}, false, "", execution.CodeAgentNotInstalled},
		{"uninstall", "2.0.0", actionUninstall, adapter.InstallOptions{}, true, "", ""},
		{"uninstall nothing", "", actionUninstall, adapter.InstallOptions{}, false, "not installed", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &machine{programs: map[string]bool{"npm": true}, agent: tt.there, npm: cmpOr(tt.opts.Version, "2.0.0")}
			var announced []string
			tt.opts.Announce = func(c string) { announced = append(announced, c) }
			res, err := m.registry("linux", npmMethod).change(t.Context(), "full", tt.action, tt.opts)
			if execution.CodeOf(err) != tt.code && (err != nil || tt.code != "") {
				t.Fatalf("got %v, want %q", err, tt.code)
			}
			ran := slices.ContainsFunc(m.ran, func(c string) bool {
				return strings.HasPrefix(c, "npm install") || strings.HasPrefix(c, "npm uninstall")
			})
			if ran != tt.runs || ran != (len(announced) == 1) || !strings.Contains(res.Message, tt.message) {
				t.Errorf("ran %q, announced %q, result %+v; want run %v and message %q", m.ran, announced, res, tt.runs, tt.message)
			}
			if ran && (announced[0] != res.Command || res.InstalledVersion != m.agent) {
				t.Errorf("announced %q, result %+v", announced, res)
			}
		})
	}
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func TestInstallSeesWhatNpmDid(t *testing.T) {
	t.Parallel()
	warning := "npm warn EBADENGINE Unsupported engine {\nnpm warn EBADENGINE   required: { node: '>=22' },\nnpm warn EBADENGINE   current: { node: 'v20.20.2' }\n"
	for _, tt := range []struct {
		name    string
		version string
		npm     string
		onPath  string // what PATH finds afterwards; empty: what npm installed
		answers map[string]adapter.SpawnOutcome
		want    string
	}{
		{"an older release", "latest", "1.9.0", "", map[string]adapter.SpawnOutcome{"npm view @x/full@latest version --json": {Stdout: `"2.1.0"`}}, "npm installed 1.9.0 although 2.1.0"},
		{"an older one of a range", ">=1", "1.9.0", "", map[string]adapter.SpawnOutcome{"npm view '@x/full@>=1' version --json": {Stdout: `["1.9.0","2.1.0","1.10.0"]`}}, "npm installed 1.9.0 although 2.1.0"},
		{"the newest", "latest", "2.1.0", "", map[string]adapter.SpawnOutcome{"npm view @x/full@latest version --json": {Stdout: `"2.1.0"`}}, ""},
		{"pinned, and older all the same", "", "1.9.0", "", nil, "npm installed 1.9.0 although 2.0.0"},
		{"a warning about engines", "", "2.0.0", "", map[string]adapter.SpawnOutcome{"npm install -g --no-fund --no-audit @x/full@2.0.0": {Stderr: warning}}, "needs another Node: required: { node: '>=22' }, current: { node: 'v20.20.2' }"},
		{"below the minimum", "1.0.0", "1.0.0", "", nil, "needs version 1.5.0"},
		{"another one is first on PATH", "", "2.0.0", "1.7.0", map[string]adapter.SpawnOutcome{"npm install -g --no-fund --no-audit @x/full@2.0.0": {}}, "first one on PATH is /bin/full, version 1.7.0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &machine{programs: map[string]bool{"npm": true}, npm: tt.npm, answers: tt.answers, agent: tt.onPath}
			if strings.Contains(tt.name, "engines") {
				m.agent = tt.npm
			}
			res, err := m.registry("linux", npmMethod).Install(t.Context(), "full", adapter.InstallOptions{Version: tt.version, Force: true})
			if err != nil || !res.OK || (tt.want == "") != (res.Message == "") || !strings.Contains(res.Message, tt.want) || res.InstalledVersion != tt.npm {
				t.Errorf("got %+v, %v; want a message with %q", res, err, tt.want)
			}
		})
	}
	t.Run("not on PATH", func(t *testing.T) {
		t.Parallel()
		m := &machine{programs: map[string]bool{"npm": true}, npm: "2.0.0", answers: map[string]adapter.SpawnOutcome{"npm install -g --no-fund --no-audit @x/full@2.0.0": {}}}
		res, err := m.registry("linux", npmMethod).Install(t.Context(), "full", adapter.InstallOptions{})
		if err != nil || !strings.Contains(res.Message, "is on PATH") {
			t.Errorf("got %+v, %v", res, err)
		}
	})
	t.Run("still there after uninstalling", func(t *testing.T) {
		t.Parallel()
		m := &machine{programs: map[string]bool{"npm": true}, agent: "2.0.0", answers: map[string]adapter.SpawnOutcome{"npm uninstall -g @x/full": {}}}
		res, err := m.registry("linux", npmMethod).Uninstall(t.Context(), "full", adapter.InstallOptions{})
		if err != nil || !strings.Contains(res.Message, "/bin/full is still there") {
			t.Errorf("got %+v, %v", res, err)
		}
	})
}

func TestInstallerThatFails(t *testing.T) {
	t.Parallel()
	m := &machine{programs: map[string]bool{"npm": true}, answers: map[string]adapter.SpawnOutcome{"npm install -g --no-fund --no-audit @x/full@2.0.0": {Code: 243, Stderr: "npm error code EACCES\nnpm error permission denied\nnpm error A complete log of this run can be found in: /x\n"}}}
	res, err := m.registry("linux", npmMethod).Install(t.Context(), "full", adapter.InstallOptions{})
	var e *execution.Error
	if !errors.As(err, &e) || e.Code != execution.CodeSpawn || !strings.Contains(e.Message, "243: npm error permission denied") || !strings.Contains(e.Hint, res.Command) || res.OK || !strings.Contains(res.Stderr, "EACCES") {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestInstallerThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &machine{programs: map[string]bool{"sh": true}}
		h := m.host("linux")
		spawn := h.Spawn
		h.Spawn = func(ctx context.Context, c adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
			c.Command = "hang"
			return spawn(ctx, c)
		}
		d := describe("full", probing(func(context.Context, adapter.Host) (adapter.Installation, error) { return adapter.Installation{}, nil }))
		d.Install = []adapter.InstallMethod{scriptMethod}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		res, err := NewRegistry([]adapter.Descriptor{d}, h).Install(ctx, "full", adapter.InstallOptions{})
		if execution.CodeOf(err) != execution.CodeTimeout || res.OK {
			t.Errorf("got %+v, %v", res, err)
		}
	})
}

// A shell's pipe ends well when the download in front of it failed: nothing is there afterwards.
func TestScriptThatInstallsNothing(t *testing.T) {
	t.Parallel()
	m := &machine{programs: map[string]bool{"sh": true}}
	h := m.host("linux")
	h.Spawn = func(context.Context, adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
		return adapter.SpawnOutcome{Stderr: "curl: (6) Could not resolve host\n"}, nil
	}
	d := describe("full", probing(func(context.Context, adapter.Host) (adapter.Installation, error) { return adapter.Installation{}, nil }))
	d.Install = []adapter.InstallMethod{scriptMethod}
	res, err := NewRegistry([]adapter.Descriptor{d}, h).Install(t.Context(), "full", adapter.InstallOptions{})
	if execution.CodeOf(err) != execution.CodeSpawn || res.OK || !strings.Contains(err.Error(), "Could not resolve host") {
		t.Errorf("got %+v, %v", res, err)
	}
}

// ownInstaller installs itself.
type ownInstaller struct{ adapter.Adapter }

func (ownInstaller) Install(context.Context, adapter.Host, adapter.InstallOptions) (adapter.InstallResult, error) {
	return adapter.InstallResult{OK: true, Method: "own"}, nil
}
func (ownInstaller) Update(context.Context, adapter.Host, adapter.InstallOptions) (adapter.InstallResult, error) {
	return adapter.InstallResult{}, errors.New("no")
}
func (ownInstaller) Uninstall(context.Context, adapter.Host, adapter.InstallOptions) (adapter.InstallResult, error) {
	return adapter.InstallResult{OK: true}, nil
}

func TestInstallerOfTheAdapter(t *testing.T) {
	t.Parallel()
	d := describe("full")
	build := d.New
	d.New = func() adapter.Adapter { return ownInstaller{build()} }
	r := NewRegistry([]adapter.Descriptor{d}, adapter.Host{})
	if res, err := r.Install(t.Context(), "full", adapter.InstallOptions{}); err != nil || res.Method != "own" || res.Agent != "full" || res.Action != "install" {
		t.Errorf("got %+v, %v", res, err)
	}
	if _, err := r.Update(t.Context(), "full", adapter.InstallOptions{}); err == nil {
		t.Error("the adapter's error is lost")
	}
	if _, err := r.Install(t.Context(), "nobody", adapter.InstallOptions{}); execution.CodeOf(err) != execution.CodeUnknownAgent {
		t.Errorf("got %v", err)
	}
}
