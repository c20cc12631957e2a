package config

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

// strictUser is a user who allows little.
const strictUser = `{"approvalMode":"deny","sandbox":"read-only","maxBudgetUsd":1,"maxTurns":5,"maxOutputTokens":900,"timeout":60000,"inactivityTimeout":30000,
	"gracePeriodMs":1000,"environment":"minimal","env":{"MINE":"1"},"mcpServers":[{"name":"mine","transport":"stdio","command":"mine"}],"skills":["/mine"],
	"retryPolicy":{"maxAttempts":2},"systemPromptMode":"append","allowTools":["Read"],"denyTools":["Bash(rm:*)"]}`

// loose are values of every key that would allow more.
var loose = map[string][]string{
	"approvalMode": {`"yolo"`, `"reads"`, `"prompt"`, `""`}, "sandbox": {`"none"`, `"workspace-write"`, `""`}, "maxBudgetUsd": {"100000"}, "maxTurns": {"100000", "0"},
	"maxOutputTokens": {"100000", "0"}, "timeout": {"0", "600000"}, "inactivityTimeout": {"0", "600000"}, "gracePeriodMs": {"99999999999", "600000"},
	"environment": {`"inherit"`, `""`}, "env": {`{"LD_PRELOAD":"/x.so"}`, "{}"}, "mcpServers": {`[{"name":"h","transport":"stdio","command":"/bin/sh"}]`, "[]"},
	"skills": {`["x"]`, "[]"}, "retryPolicy": {`{"maxAttempts":50}`, `{"maxRetries":50}`, `{"baseDelayMs":3000}`, "{}"}, "systemPromptMode": {`"replace"`, `""`},
	"allowTools": {`["Bash"]`, "[]"}, "denyTools": {"[]", `["Bash(rm:*)"]`}, "invocation": {`"ssh:evil"`, `"local"`, `""`},
	"profile": {`"x"`}, "safeDirectories": {`["*"]`, "[]"}, "budgets": {`[{"daily":100000}]`, "[]"},
}

// TestAProjectNeverAllowsMore: whatever a project says of these keys, in whichever spelling, once or twice, for all agents or for
// one, either the file is refused or runs are as the user allows them.
func TestAProjectNeverAllowsMore(t *testing.T) {
	t.Parallel()
	user := layer{scope: ScopeUser, path: "user.json", raw: map[string]json.RawMessage{}}
	if err := user.decode([]byte(strictUser)); err != nil {
		t.Fatal(err)
	}
	want, err := (&Config{layers: []layer{user}}).Run("claude")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	check := func(text string) {
		t.Helper()
		l := layer{scope: ScopeProject, path: "config.json", raw: map[string]json.RawMessage{}}
		if err := l.decode([]byte(text)); err != nil {
			if execution.CodeOf(err) != execution.CodeConfig {
				t.Errorf("%s: %v", text, err)
			}
			return
		}
		got, err := (&Config{layers: []layer{l, user}}).Run("claude")
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the run becomes %+v (%v)", text, got, err)
		}
	}
	for key, values := range loose {
		for _, value := range append(values, "null", "[]", "{}") {
			for _, spelling := range []string{key, strings.ToLower(key), strings.ToUpper(key), anyCase(key, random), strings.Replace(key, "s", "\u017f", 1)} {
				for _, second := range []string{"", key, strings.ToLower(key), anyCase(key, random)} {
					members := fmt.Sprintf("%q:%s", spelling, value)
					if second != "" {
						tight := map[bool]string{true: "null", false: string(mustRaw(t, strictUser)[key])}[mustRaw(t, strictUser)[key] == nil]
						members = fmt.Sprintf("%s,%q:%s", members, second, tight)
					}
					check("{" + members + "}")
					check(`{"agents":{"claude":{` + members + "}}}")
					check(`{"Agents":{"claude":{` + members + "}}}")
				}
			}
		}
	}
	check(`{"models":[{"agent":"claude","modelId":"x","price":{"input":0,"output":0}}]}`)
}

func anyCase(s string, r *rand.Rand) string {
	b := []byte(s)
	for i := range b {
		if r.IntN(2) == 0 && b[i] >= 'a' && b[i] <= 'z' {
			b[i] -= 'a' - 'A'
		}
	}
	return string(b)
}

func mustRaw(t *testing.T, text string) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestEveryLimitIsTested(t *testing.T) {
	t.Parallel()
	for o := range execution.Options() {
		guarded := !o.In(execution.ReachProject) || o.Tight != "" || o.Never != ""
		if o.In(execution.ReachUser) && guarded && loose[o.Name] == nil {
			t.Errorf("%s is not in the property test", o.Name)
		}
	}
}

func TestAProjectTightens(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.userFile(`{"maxTurns":5,"timeout":60000,"retryPolicy":{"maxRetries":3},"agents":{"claude":{"maxTurns":4},"codex":{"maxTurns":50}},
		"denyTools":["Bash(rm:*)"]}`)
	p.projectFile(`{"maxTurns":3,"timeout":1000,"approvalMode":"deny","sandbox":"read-only","environment":"minimal","maxBudgetUsd":0.5,
		"denyTools":["Edit(.github/**)","Bash(rm:*)"],"retryPolicy":{"maxAttempts":2},"agents":{"codex":{"maxTurns":40},"gemini":{"maxTurns":40}}}`)
	c := p.read()
	claude, err := c.Run("claude")
	if err != nil || claude.MaxTurns != 3 || claude.TimeoutMs != 1000 || claude.ApprovalMode != "deny" || claude.Sandbox != "read-only" ||
		claude.Environment != "minimal" || *claude.MaxBudgetUSD != 0.5 || claude.RetryPolicy.MaxAttempts != 2 {
		t.Errorf("got %+v, %v", claude, err)
	}
	if want := []string{"Bash(rm:*)", "Edit(.github/**)"}; !slices.Equal(claude.DenyTools, want) {
		t.Errorf("denied: %q", claude.DenyTools)
	}
	if v, ok := c.Get("denyTools"); !ok || string(v.Value) != `["Bash(rm:*)","Edit(.github/**)"]` {
		t.Errorf("denyTools: %s", v.Value)
	}
	// The user's own exception for an agent holds against the project's; the user's general limit binds where there is none.
	if codex, err := c.Run("codex"); err != nil || codex.MaxTurns != 40 {
		t.Errorf("codex: %d, %v", codex.MaxTurns, err)
	}
	if gemini, err := c.Run("gemini"); err != nil || gemini.MaxTurns != 5 {
		t.Errorf("gemini: %d, %v", gemini.MaxTurns, err)
	}
	if got := c.Ignored("gemini"); len(got) != 1 || !strings.Contains(got[0], "config.json: maxTurns 40 is ignored: yours is 5") {
		t.Errorf("got %q", got)
	}
	for key, want := range map[string]string{"maxTurns": "project 3", "agents.gemini.maxTurns": "global 5", "agents.claude.maxTurns": "project 3"} {
		if v, ok := c.Get(key); !ok || string(v.Origin.Scope)+" "+string(v.Value) != want {
			t.Errorf("%s: %s %s, want %s", key, v.Origin, v.Value, want)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"denyTools": ["Bash("]}`: "does not end with a bracket", `{"agents": {"codex": {"allowTools": ["Task(x)"]}}}`: "takes no pattern",
		`{"gracePeriodMs": 99999999999}`: "600000", `{"retryPolicy": {"maxAttempts": 1000000}}`: "1 to 100", `{"timeout": 99999999999}`: "2592000000",
		`{"maxTurns": 99999999999}`: "1 to 1000000", `{"retryPolicy": {"maxAttempts": 2, "baseDelayMs": 999999999, "maxDelayMs": 999999999}}`: "3600000",
		`{"agents": {"codex": {"inactivityTimeout": 99999999999}}}`: "agents.codex.inactivityTimeout",
	} {
		p := newPlace(t)
		p.userFile(text)
		if _, err := Read(p.work, p.getenv); execution.CodeOf(err) != execution.CodeConfig || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// A profile of a project is held to the rules of its configuration, whatever the user's of that name allows.
func TestProfilesOfProjects(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.userFile(strictUser)
	p.projectFile("{}")
	file := filepath.Join(filepath.Dir(p.work), ".drawbar", "profiles", "careful.json")
	for _, text := range []string{
		`{"approvalMode":"yolo"}`, `{"approvalmode":"yolo"}`, `{"sandbox":"none"}`, `{"mcpServers":[{"name":"h","transport":"stdio","command":"/bin/sh"}]}`,
		`{"mcpservers":[{"name":"h","transport":"stdio","command":"/bin/sh"}]}`, `{"mcpServers":[]}`, `{"skills":["x"]}`, `{"env":{"A":"1"}}`, `{"agent":"acp","command":["/bin/sh"]}`,
		`{"model":"x","model":"y"}`, `{"model":null}`, `{"forkSession":"x"}`,
	} {
		p.write(file, text)
		if d, err := p.read().Profiles().Show("careful"); execution.CodeOf(err) != execution.CodeConfig || !strings.Contains(err.Error(), "careful.json") {
			t.Errorf("%s: got %+v, %v", text, d.Data, err)
		}
		if _, err := (Profiles{}).Encode(ScopeProject, "careful", mustRaw(t, text)); err == nil && !strings.Contains(text, "model") {
			t.Errorf("%s would be written", text)
		}
	}
	p.write(file, `{"model":"m","approvalMode":"prompt","sandbox":"workspace-write","maxTurns":100,"maxBudgetUsd":9,"timeout":0,"environment":"inherit","gracePeriodMs":9000}`)
	d, err := p.read().Profiles().Show("careful")
	if want := (execution.RunOptions{Model: "m"}); err != nil || !reflect.DeepEqual(d.Data, want) || len(d.Ignored) != 7 {
		t.Errorf("got %+v, %q, %v", d.Data, d.Ignored, err)
	}
	p.env["DRAWBAR_MAX_TURNS"] = "2"
	p.write(file, `{"maxTurns":3}`)
	if d, err := p.read().Profiles().Show("careful"); err != nil || d.Data.MaxTurns != 0 {
		t.Errorf("a limit of the environment is loosened: %+v, %v", d.Data, err)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	p := newPlace(t)
	secret := filepath.Join(t.TempDir(), "shadow")
	p.write(secret, "s3cret:x")
	drawbar := filepath.Join(filepath.Dir(p.work), ".drawbar")
	for name, to := range map[string]string{"a device": "/dev/zero", "a file outside": secret, "a folder": "."} {
		if err := os.RemoveAll(drawbar); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(drawbar, "profiles"), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"config.json", "profiles/x.json"} {
			if err := os.Symlink(to, filepath.Join(drawbar, file)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Read(p.work, p.getenv); execution.CodeOf(err) != execution.CodeConfig || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v", name, err)
		}
		dirs, err := FindDirs(p.work, p.getenv)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (Profiles{Dirs: dirs}).Show("x"); execution.CodeOf(err) != execution.CodeConfig || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := os.RemoveAll(drawbar); err != nil {
		t.Fatal(err)
	}
	p.projectFile(strings.Repeat(" ", maxFile+1))
	if _, err := Read(p.work, p.getenv); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("got %v", err)
	}
}

func TestAnotherUsersDirectoryIsPassedOver(t *testing.T) {
	if os.Geteuid() != 0 || runtime.GOOS == "windows" {
		t.Skip("only root can give files away")
	}
	t.Setenv("SUDO_UID", "")
	p := newPlace(t)
	p.projectFile(`{"defaultModel":"theirs"}`)
	root := filepath.Dir(p.work)
	p.write(filepath.Join(root, ".drawbar", "profiles", "fast.json"), `{"model":"theirs"}`)
	for _, path := range []string{".drawbar/config.json", ".drawbar"} {
		if err := os.Chown(filepath.Join(root, path), 4242, 4242); err != nil {
			t.Fatal(err)
		}
		work := p.work
		for _, p.work = range []string{work, root} {
			c := p.read()
			if run, err := c.Run("claude"); err != nil || run.Model != "" || len(c.Dirs().Skipped) != 1 || !strings.Contains(c.Dirs().Skipped[0], "4242") {
				t.Errorf("%s, in %s: got %+v, %v, %q", path, p.work, run, err, c.Dirs().Skipped)
			}
			if _, err := c.Dirs().Within(ScopeProject); (execution.CodeOf(err) == execution.CodeUntrusted) != (p.work == root) {
				t.Errorf("%s, in %s: writing: %v", path, p.work, err)
			}
			if list, err := c.Profiles().List(ScopeProject); err != nil || len(list) != 0 {
				t.Errorf("%s, in %s: profiles %v, %v", path, p.work, list, err)
			}
		}
		p.work = work
	}
	governed := filepath.Join(root, "agentxchain.json")
	p.write(governed, "{}")
	if err := os.Chown(governed, 4242, 4242); err != nil {
		t.Fatal(err)
	}
	if err := p.read().Dirs().Own(root, "agentxchain.json"); execution.CodeOf(err) != execution.CodeUntrusted {
		t.Errorf("got %v", err)
	}
	p.userFile(fmt.Sprintf(`{"safeDirectories":[%q]}`, root))
	if err := p.read().Dirs().Own(root, "agentxchain.json"); err != nil {
		t.Errorf("got %v", err)
	}
	if run, err := p.read().Run("claude"); err != nil || run.Model != "theirs" {
		t.Errorf("got %+v, %v", run, err)
	}
}
