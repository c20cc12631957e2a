//go:build unix

package orchestrator

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
)

// guide returns the first block of a language in the page about connectors.
func guide(t *testing.T, language string) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/build-your-own-connector.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(page)
	if m == nil {
		t.Fatalf("the page has no block of %s", language)
	}
	return string(m[1])
}

// adapterProject is the project of the page, with changes to its module.
func adapterProject(t *testing.T, config string, replace ...string) *world {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("there is no node on the PATH: custom adapters are not tested")
	}
	p := bare(t, config)
	p.write("adapters/my-adapter.mjs", strings.NewReplacer(replace...).Replace(guide(t, "js")))
	p.git("init", "-q", "-b", "main")
	p.git("add", "-A")
	p.git("commit", "-qm", "start")
	return p
}

// TestConnectorOfTheGuide follows docs/build-your-own-connector.md, in both editions and in a worktree.
func TestConnectorOfTheGuide(t *testing.T) {
	config := guide(t, "json")
	for name, config := range map[string]string{
		"as a runtime's type": config,
		"in a worktree":       strings.Replace(config, `"workflow_kit"`, `"workspace": "worktree", "workflow_kit"`, 1),
		"first edition": strings.NewReplacer(`"write_authority": "authoritative", "runtime": "notes"`, `"adapter": "my_adapter", "adapter_config": {"text": "hello"}`,
			`"runtimes": {"notes": {"type": "my_adapter", "adapter_config": {"text": "hello"}}},`, "").Replace(config),
	} {
		t.Run(name, func(t *testing.T) {
			p := adapterProject(t, config, "objections: []", `objections: [{ id: "OBJ-001", severity: "low", against_turn_id: null, statement: "The note has no date.", status: "raised" }]`)
			p.step(govern.OutcomeAccepted)
			if got := p.read("NOTES.md"); got != "hello\n" {
				t.Errorf("NOTES.md %q", got)
			}
			p.sound()
		})
	}
}

// TestAdapterIsValidated: what an adapter returns is judged, and what it does to the record, its rules and others' files
// fails its turn.
func TestAdapterIsValidated(t *testing.T) {
	for name, c := range map[string]struct {
		replace []string
		code    string
	}{
		"an undeclared change": {[]string{`files_changed: ["NOTES.md"]`, `files_changed: ["README.md"]`}, "artifact_mismatch"},
		"the record":           {[]string{`return { status`, `await (await import("node:fs/promises")).writeFile(".agentxchain/history.jsonl", "{}\n"); return { status`}, ""},
		"the rules":            {[]string{`return { status`, `await appendFile("agentxchain.json", "\n"); return { status`}, "rules_changed"},
		"the state":            {[]string{`return { status`, `await (await import("node:fs/promises")).writeFile(".agentxchain/state.json", "{}"); return { status`}, ""},
		"a review":             {[]string{`return { status`, `const fs = await import("node:fs/promises"); await fs.mkdir(".agentxchain/reviews"); await fs.writeFile(".agentxchain/reviews/r.md", "ok"); return { status`}, "adapter_failure"},
		"an exception":         {[]string{`return { status`, `throw new Error("no service"); return { status`}, "adapter_failure"},
	} {
		t.Run(name, func(t *testing.T) {
			p := adapterProject(t, guide(t, "json"), c.replace...)
			r, err := p.engine().Step(t.Context(), govern.StepOptions{NoRepair: true})
			if err != nil || r.Outcome == govern.OutcomeAccepted || c.code != "" && r.Code != c.code {
				t.Fatalf("%s %s %v %v", r.Outcome, r.Code, r.Errors, err)
			}
			if r.TurnID == "" || !strings.Contains(p.read(protocol.BundleDir(r.TurnID)+"/evidence/adapter.log"), "adapter my_adapter") {
				t.Errorf("no evidence of turn %q", r.TurnID)
			}
		})
	}
}
