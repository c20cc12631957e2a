package product

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/internal/governed/conformance"
	"github.com/drawbar/drawbar/internal/governed/governance/charter"
	"github.com/drawbar/drawbar/transport/process"
)

func TestMain(m *testing.M) {
	process.MaybeKeeper()
	goleak.VerifyTestMain(m)
}

// TestOwnFixtures holds the product to the fixtures that come with it, and leaves nothing behind.
func TestOwnFixtures(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	fixtures, err := conformance.Suite()
	if err != nil {
		t.Fatal(err)
	}
	covered := map[string]map[string]bool{}
	for _, f := range fixtures {
		if covered[f.Surface] == nil {
			covered[f.Surface] = map[string]bool{}
		}
		covered[f.Surface][f.Type] = true
	}
	for surface, claimed := range surfaces() {
		if claimed && len(covered[surface]) == 0 {
			t.Errorf("no fixture of ours is about %s", surface)
		}
	}
	drive(t, fixtures)
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestPublicFixtures runs the fixtures of the protocol's own suite, as far as they are on this machine: those beside the
// module, and those in the folder that AGENTXCHAIN_FIXTURES names.
func TestPublicFixtures(t *testing.T) {
	for _, dir := range []string{filepath.Join("..", "..", "..", "..", "..", "shared", "conformance", "agentxchain", "fixtures"), os.Getenv("AGENTXCHAIN_FIXTURES")} {
		if _, err := os.Stat(dir); err != nil {
			t.Logf("SKIPPED: no public fixtures at %q", dir)
			continue
		}
		fixtures, err := conformance.Load(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		if !exists("node") {
			t.Log("SKIPPED: hooks of the public suite are Node programs, and node is not on PATH")
			fixtures = slices.DeleteFunc(fixtures, func(f conformance.Fixture) bool { return f.Surface == "hook_audit" })
		}
		drive(t, fixtures)
		t.Logf("%d fixtures of %s", len(fixtures), dir)
	}
}

func exists(program string) bool {
	return slices.ContainsFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, program))
		return err == nil
	})
}

// drive expects a pass of every fixture.
func drive(t *testing.T, fixtures []conformance.Fixture) {
	t.Helper()
	_, outcomes, err := conformance.Run(t.Context(), Target("test"), fixtures, conformance.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		if o.Status != conformance.Pass {
			t.Errorf("%s: %s: %s\n%s", o.FixtureID, o.Status, o.Message, o.Actual)
		}
	}
}

func fixture(t *testing.T, tier int, operation, setup, args string) conformance.Fixture {
	t.Helper()
	f, err := conformance.ParseFixture(fmt.Appendf(nil, `{"fixture_id":"F","tier":%d,"surface":"s","description":"d","type":"t","setup":%s,
		"input":{"operation":%q,"args":%s},"expected":{}}`, tier, setup, operation, args))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFixturesThatCannotBeSetUp are answered with an error: they are no verdict on the product.
func TestFixturesThatCannotBeSetUp(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	t.Setenv("TMPDIR", filepath.Dir(outside))
	for _, tc := range []struct{ name, setup, args, want string }{
		{"a file outside the project", `{"filesystem":{"../outside":"x"}}`, `{}`, "escapes"},
		{"an absolute file", `{"filesystem":{` + quote(outside) + `:"x"}}`, `{}`, "escapes"},
		{"a bundle outside the project", `{"dispatch_bundle":{"../../../..":{"outside":"x"}}}`, `{}`, "escapes"},
		{"a configuration that is a list", `{"config":[1]}`, `{}`, "setup.config"},
		{"a state that is a list", `{"state":[1]}`, `{}`, "setup.state"},
		{"a history that is a text", `{"history":"x"}`, `{}`, "setup: "},
		{"arguments that are a list", `{}`, `[1]`, "input.args"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := Execute(t.Context(), fixture(t, 1, "evaluate_phase_exit", tc.setup, tc.args))
			if a.Status != conformance.Error || !strings.Contains(a.Message, tc.want) {
				t.Errorf("got %s: %s, want %s", a.Status, a.Message, tc.want)
			}
		})
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("a file was written outside the project")
	}
}

func TestOperationsThatAreNotKnown(t *testing.T) {
	a := Execute(t.Context(), fixture(t, 3, "fly", `{}`, `{}`))
	if a.Status != conformance.NotImplemented || a.Message != "unknown operation fly" {
		t.Errorf("%+v", a)
	}
}

// TestOperationsTakeAnything gives every operation empty and senseless arguments: the answer is a verdict or an error.
func TestOperationsTakeAnything(t *testing.T) {
	for name := range operations {
		for _, args := range []string{`{}`, `{"turn_id":"../x","event":1,"events":[1],"entry":[],"config":7,"phase":"no","role_id":[]}`, `{"config":{"roles":[],"routing":{"a":1}}}`} {
			for _, setup := range []string{`{}`, `{"state":{"active_turns":{"t":null},"status":"odd"},"config":{"roles":{"dev":7},"hooks":{"no":[]}},"turn_result":[]}`} {
				a := Execute(t.Context(), fixture(t, 1, name, setup, args))
				if a.Status != conformance.Pass && a.Status != conformance.Error && a.Status != conformance.Fail {
					t.Errorf("%s with %s: %+v", name, args, a)
				}
			}
		}
	}
}

func TestClaims(t *testing.T) {
	c, err := Target("1.2.3").Capabilities(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conformance.ParseCapabilities(b, conformance.StdioProtocol); err != nil || c.Version != "1.2.3" {
		t.Errorf("%s: %v", b, err)
	}
}

func FuzzInflate(f *testing.F) {
	f.Add([]byte(`{"roles":{"dev":{"runtime":"manual"},"x":1},"runtimes":{"a":{}},"rules":null}`), []byte(`{"active_turns":{"t":{"role":1}}}`))
	f.Add([]byte(`[]`), []byte(`null`))
	f.Fuzz(func(t *testing.T, config, state []byte) {
		text, err := inflateConfig(config)
		if err != nil {
			return
		}
		again, err := inflateConfig(text)
		if err != nil || string(again) != string(text) {
			t.Errorf("inflated twice: %v\n%s\n%s", err, text, again)
		}
		c, _ := charter.Decode(text)
		if c == nil {
			return
		}
		_, _ = inflateState(state, c)
	})
}

// TestUnchangedIsLookedAt refuses a result, which marks the turn: the state is another one, and is said to be.
func TestUnchangedIsLookedAt(t *testing.T) {
	f := fixture(t, 1, "accept_turn", `{"config":{"roles":{"dev":{}},"routing":{"build":{"entry_role":"dev"}}},"turn_result":{"turn_id":"t"},
		"state":{"status":"active","phase":"build","run_id":"r","active_turns":{"t":{"assigned_role":"dev"}}}}`, `{"turn_id":"t"}`)
	var actual struct {
		Stage     string `json:"failed_stage"`
		Unchanged *bool  `json:"state_unchanged"`
	}
	a := Execute(t.Context(), f)
	if err := json.Unmarshal(a.Actual, &actual); err != nil || actual.Stage != "schema" || actual.Unchanged == nil || *actual.Unchanged {
		t.Errorf("got %s, %v", a.Actual, err)
	}
}
