//go:build unix

package orchestrator

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/audit"
	"github.com/drawbar/drawbar/internal/governed/proposal"
)

func init() {
	maps.Copy(workers, map[string]func(*worker){
		"proposes": func(w *worker) {
			w.stage(proposes(w.result(), change("src/new.txt", "create", "new\n"), change("README.md", "modify", "better\n"), change("old/gone.txt", "delete", "")))
		},
		"proposes a file of its own": func(w *worker) {
			r := w.result()
			turn := r["turn_id"].(string)
			w.stage(proposes(r, change(turn+".txt", "create", turn)))
		},
		"proposes and writes": func(w *worker) {
			w.put("src/new.txt", "new\n")
			w.stage(proposes(w.result(), change("src/new.txt", "create", "new\n")))
		},
	})
}

// proposed is a project whose first turn has proposed three changes.
func proposed(t *testing.T, runtime string) (*world, string) {
	t.Helper()
	p := newProject(t, alone("proposed", runtime, ""))
	p.write("old/gone.txt", "old\n")
	p.git("add", "-A")
	p.git("commit", "-qm", "more")
	r := p.step(govern.OutcomeAccepted)
	if r.Artifact != ".agentxchain/proposed/"+r.TurnID {
		t.Fatalf("the report names %q", r.Artifact)
	}
	return p, r.TurnID
}

func (p *world) proposals() []proposal.Proposal {
	p.t.Helper()
	all, err := proposal.Of(p.root, p.view())
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

func (p *world) decide(o govern.ProposalOptions) (govern.Report, error) {
	return p.engine().DecideProposal(p.t.Context(), o)
}

// TestProposal: nothing is in the work tree until a person applies it, and then exactly what was proposed.
func TestProposal(t *testing.T) {
	p, turn := proposed(t, runtimeOf("proposes"))
	if p.read("README.md") != "start\n" || p.read("src/new.txt") != "" || p.read("old/gone.txt") != "old\n" {
		t.Fatal("the proposal is in the work tree")
	}
	h := p.history()[0]
	dir := ".agentxchain/proposed/" + turn
	if protocol.Deref(h.Artifact.Ref) != dir || h.DerivedFiles.Len() != 4 || !strings.HasPrefix(h.DerivedFiles.At(dir+"/src/new.txt"), "sha256:") {
		t.Errorf("%+v", h.DerivedFiles)
	}
	if text := p.read(dir + "/PROPOSAL.md"); !strings.Contains(text, "- `src/new.txt` — create\n- `README.md` — modify\n- `old/gone.txt` — delete\n") {
		t.Errorf("%s", text)
	}
	if text := p.read(dir + "/SOURCE_SNAPSHOT.json"); !strings.Contains(text, `"existed": true`) || !strings.Contains(text, `"sha256": null`) {
		t.Errorf("%s", text)
	}

	p.write("README.md", "a person's\n")
	_, err := p.decide(govern.ProposalOptions{})
	if err == nil || !strings.Contains(err.Error(), "README.md; nothing was written") || !strings.Contains(hint(err), "--force") || p.read("src/new.txt") != "" {
		t.Fatalf("%v, %s", err, hint(err))
	}
	if _, err := p.decide(govern.ProposalOptions{Files: []string{"no.txt"}}); err == nil || !strings.Contains(hint(err), "src/new.txt") {
		t.Errorf("%v", err)
	}
	r, err := p.decide(govern.ProposalOptions{Turn: turn, Files: []string{"src/new.txt"}})
	if err != nil || p.read("src/new.txt") != "new\n" || p.read("README.md") != "a person's\n" || !slices.Equal(r.Files, []string{"src/new.txt"}) || !strings.Contains(r.Hint, "git commit") {
		t.Fatalf("%v %+v", err, r)
	}
	if now := p.proposals()[0]; now.Status != govern.ProposalPartly || !slices.Equal(now.Applied, []string{"src/new.txt"}) || now.By == "" {
		t.Errorf("%+v", now)
	}
	if _, err := p.decide(govern.ProposalOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	if p.read("README.md") != "better\n" || p.read("old/gone.txt") != "" {
		t.Error("the rest is not applied")
	}
	if now := p.proposals()[0]; now.Status != govern.ProposalApplied || now.Fault != "" {
		t.Errorf("%+v", now)
	}
	if text := p.read(dir + "/APPLIED.json"); !strings.Contains(text, "old/gone.txt") || !strings.Contains(text, `"forced": true`) {
		t.Errorf("%s", text)
	}
	for _, o := range []govern.ProposalOptions{{Turn: turn}, {Turn: turn, Reject: true, Reason: "late"}} {
		if _, err := p.decide(o); err == nil || !strings.Contains(err.Error(), "already applied") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	p.sound()
}

func TestProposalRejected(t *testing.T) {
	p, turn := proposed(t, runtimeOf("proposes"))
	if _, err := p.decide(govern.ProposalOptions{Reject: true}); err == nil || !strings.Contains(hint(err), "--reason") {
		t.Errorf("%v", err)
	}
	if _, err := p.decide(govern.ProposalOptions{Reject: true, Reason: "not now", By: protocol.Person{Name: "Ann"}}); err != nil {
		t.Fatal(err)
	}
	if list, err := p.engine().Proposals(t.Context()); err != nil || len(list) != 1 || list[0].Status != govern.ProposalRejected || list[0].Reason != "not now" || list[0].By != "Ann" {
		t.Errorf("%+v %v", list, err)
	}
	if !strings.Contains(p.read(protocol.LedgerFile), `"reason":"not now"`) || !strings.Contains(p.read(".agentxchain/proposed/"+turn+"/REJECTED.json"), "not now") {
		t.Error("the record does not say why")
	}
	if _, err := p.decide(govern.ProposalOptions{}); err == nil || !strings.Contains(err.Error(), "no proposal is undecided") {
		t.Errorf("%v", err)
	}
	p.sound()
}

// TestProposalFromAfar: a model that cannot reach the files proposes, and its paths are confined before a byte is written.
func TestProposalFromAfar(t *testing.T) {
	bad := ""
	url, requests := service(t, func(a asked) (int, any) {
		changes := []map[string]any{change("src/new.txt", "create", "new\n")}
		if bad != "" {
			changes = append(changes, change(bad, "create", "x"))
		}
		return 200, chatting(proposes(reviewed(a, "dev", "dev-rt"), changes...))
	})
	runtime := `{"type":"api_proxy","provider":"ollama","model":"m","base_url":"` + url + `"}`
	for _, path := range []string{"../escape.txt", "../../../../escape.txt", "/etc/escape", `..\escape`, ".git/hooks/pre-commit", ".agentxchain/state.json", "PROPOSAL.md", "applied.JSON", "SRC/NEW.txt", "src/new.txt/x", "C:/x"} {
		bad = path
		p := newProject(t, once(alone("proposed", runtime, "")))
		r := p.step(govern.OutcomeBlocked)
		if r.Code != "validation_failed" || r.Stage != protocol.StageArtifact {
			t.Errorf("%s: %s %s %v", path, r.Code, r.Stage, r.Errors)
		}
		if _, err := os.Stat(filepath.Join(p.root, ".agentxchain", "proposed")); err == nil {
			t.Errorf("%s: something was written", path)
		}
		if _, err := os.Stat(filepath.Join(p.root, "..", "escape.txt")); err == nil {
			t.Fatalf("%s escaped", path)
		}
	}
	bad = ""
	p := newProject(t, alone("proposed", runtime, ""))
	p.step(govern.OutcomeAccepted)
	if len(p.proposals()) != 1 || len(*requests) == 0 {
		t.Fatalf("%+v", p.proposals())
	}
	// The next turn knows it.
	p.step(govern.OutcomeAccepted)
	text := (*requests)[len(*requests)-1].text
	if !strings.Contains(text, "## Open Proposals") || !strings.Contains(text, "Files: `src/new.txt`") {
		t.Errorf("%s", text)
	}
	p.sound()
}

// TestProposalNeverFollowsLinks: the target of a link is not read, replaced or deleted.
func TestProposalNeverFollowsLinks(t *testing.T) {
	p, _ := proposed(t, runtimeOf("proposes"))
	outside := filepath.Join(t.TempDir(), "outside.txt")
	if err := os.WriteFile(outside, []byte("outside\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"README.md", "src"} {
		path := filepath.Join(p.root, at)
		_ = os.Remove(path)
		if err := os.Symlink(map[bool]string{true: filepath.Dir(outside), false: outside}[at == "src"], path); err != nil {
			t.Fatal(err)
		}
		if _, err := p.decide(govern.ProposalOptions{Force: true}); err == nil || p.read("old/gone.txt") != "old\n" {
			t.Errorf("%s: %v", at, err)
		}
		_ = os.Remove(path)
	}
	if b, _ := os.ReadFile(outside); string(b) != "outside\n" {
		t.Error("a file outside was written")
	}
	// A link in the way when the proposal is accepted refuses the result.
	p = newProject(t, once(alone("proposed", runtimeOf("proposes"), "")))
	if err := os.Symlink(outside, filepath.Join(p.root, "src")); err != nil {
		t.Fatal(err)
	}
	p.git("add", "-A")
	p.git("commit", "-qm", "link")
	if r := p.step(govern.OutcomeBlocked); !strings.Contains(strings.Join(r.Errors, " "), "src is not a folder") {
		t.Errorf("%v", r.Errors)
	}
}

// TestProposalThatWasAltered is not applied, whoever altered it.
func TestProposalThatWasAltered(t *testing.T) {
	for name, alter := range map[string]func(p *world, dir string){
		"content": func(p *world, dir string) { p.write(dir+"/src/new.txt", "worse\n") },
		"snapshot": func(p *world, dir string) {
			p.write(dir+"/SOURCE_SNAPSHOT.json", `{"files":[{"path":"a","action":"create"}]}`)
		},
		"missing": func(p *world, dir string) { _ = os.RemoveAll(filepath.Join(p.root, dir)) },
	} {
		p, turn := proposed(t, runtimeOf("proposes"))
		dir := ".agentxchain/proposed/" + turn
		alter(p, dir)
		if _, err := p.decide(govern.ProposalOptions{Turn: turn, Force: true}); err == nil || p.read("src/new.txt") != "" || !strings.Contains(hint(err), "archive") {
			t.Errorf("%s: %v", name, err)
		}
		r, err := audit.Verify(t.Context(), p.root)
		if err != nil || r.OK || r.Git.Broken() == nil || r.Git.Broken().Kind != audit.Derived || !strings.Contains(r.Git.Broken().Message, dir) {
			t.Errorf("%s: verify says %+v %v", name, r.Git.Findings, err)
		}
	}
}

// TestForgedDecision: a file in the folder decides nothing.
func TestForgedDecision(t *testing.T) {
	p, turn := proposed(t, runtimeOf("proposes"))
	p.write(".agentxchain/proposed/"+turn+"/APPLIED.json", `{"files":["src/new.txt","README.md","old/gone.txt"]}`)
	if now := p.proposals()[0]; now.Status != govern.ProposalOpen {
		t.Errorf("%+v", now)
	}
}

// TestProposalOfTheOriginal: a proposal that another program accepted has no digests, and is applied by its snapshot.
func TestProposalOfTheOriginal(t *testing.T) {
	p := newProject(t, one(runtimeOf("ok"), ""))
	p.write(".agentxchain/proposed/turn_theirs/PROPOSAL.md", "# Proposal\n\n- `src/x.txt` — create\n")
	p.write(".agentxchain/proposed/turn_theirs/src/x.txt", "x\n")
	if _, err := p.decide(govern.ProposalOptions{}); err == nil || !strings.Contains(err.Error(), "SOURCE_SNAPSHOT.json is missing") {
		t.Errorf("%v", err)
	}
	p.write(".agentxchain/proposed/turn_theirs/SOURCE_SNAPSHOT.json", `{"captured_at":"2026-06-01T10:00:00.000Z","files":[{"path":"../x.txt","action":"create","existed":false,"sha256":null}]}`)
	if _, err := p.decide(govern.ProposalOptions{}); err == nil || !strings.Contains(err.Error(), "leaves the project") {
		t.Errorf("%v", err)
	}
	p.write(".agentxchain/proposed/turn_theirs/SOURCE_SNAPSHOT.json", `{"captured_at":"2026-06-01T10:00:00.000Z","files":[{"path":"src/x.txt","action":"create","existed":false,"sha256":null}]}`)
	if _, err := p.decide(govern.ProposalOptions{}); err != nil || p.read("src/x.txt") != "x\n" {
		t.Errorf("%v", err)
	}
	p.write(".agentxchain/proposed/turn_other/PROPOSAL.md", "x")
	p.write(".agentxchain/proposed/turn_other/SOURCE_SNAPSHOT.json", `{"files":[]}`)
	p.write(".agentxchain/proposed/turn_other/REJECTED.json", `{"reason":"no"}`)
	if all := p.proposals(); len(all) != 2 || all[0].Status != govern.ProposalRejected || all[1].Status != govern.ProposalApplied {
		t.Errorf("%+v", all)
	}
	p.sound()
}

// TestProposalWhileATurnWrites: what a person applies must not count as the turn's.
func TestProposalWhileATurnWrites(t *testing.T) {
	p, _ := proposed(t, runtimeOf("proposes"))
	if _, err := p.engine().Assign(t.Context(), govern.StepOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.decide(govern.ProposalOptions{}); err == nil || !strings.Contains(err.Error(), "works on the same files") || hint(err) == "" {
		t.Errorf("%v", err)
	}
	if _, err := p.decide(govern.ProposalOptions{Reject: true, Reason: "no"}); err != nil {
		t.Errorf("a rejection writes no file: %v", err)
	}
}

// TestProposalOnlyProposes: a worker that also writes is refused.
func TestProposalOnlyProposes(t *testing.T) {
	p := newProject(t, once(alone("proposed", runtimeOf("proposes and writes"), "")))
	if r := p.step(govern.OutcomeBlocked); r.Code != "artifact_mismatch" || len(p.proposals()) != 0 {
		t.Errorf("%s %v", r.Code, r.Errors)
	}
}

// TestReviewFromAfar: the review of a model is a file of its own, with the ids of the record, and the next turns see it.
func TestReviewFromAfar(t *testing.T) {
	url, _ := service(t, func(a asked) (int, any) {
		r := reviewed(a, "qa", "qa-rt")
		r["run_completion_request"], r["decisions"] = true, []any{map[string]any{"id": "DEC-001", "category": "quality", "statement": "ship it", "rationale": "it works"}}
		return 200, chatting(r)
	})
	p := newProject(t, three(runtimeOf("pm"), runtimeOf("dev"), `{"type":"api_proxy","provider":"ollama","model":"m","base_url":"`+url+`"}`, ""))
	p.step(govern.OutcomeAccepted)
	if _, err := p.engine().Approve(t.Context(), govern.ApproveOptions{Either: true}); err != nil {
		t.Fatal(err)
	}
	p.step(govern.OutcomeAccepted)
	r := p.step(govern.OutcomeAccepted)
	h := p.history()[2]
	path := ".agentxchain/reviews/" + r.TurnID + "-qa-review.md"
	text := p.read(path)
	if protocol.Deref(h.Artifact.Ref) != path || h.DerivedFiles.Len() != 1 || r.Artifact != path {
		t.Errorf("%+v", h.Artifact)
	}
	if !strings.Contains(text, "> read the work") || !strings.Contains(text, h.Objections[0].ID+"** (low): no test covers the empty name") || !strings.Contains(text, "ship it") {
		t.Errorf("%s", text)
	}
	p.sound()
}

// TestSubmittedProposal: a person who proposes names files and contents; another role's person changes the files.
func TestSubmittedProposal(t *testing.T) {
	content := "x\n"
	form := govern.Submission{Summary: "mine", Proposes: []protocol.ProposedChange{{Path: "README.md", Content: &content}, {Path: "new/a.txt", Content: &content}, {Path: "b.txt"}}}
	for authority, fault := range map[string]string{"proposed": "", "authoritative": "is authoritative: only a role"} {
		p := newProject(t, alone(authority, manualRuntime, ""))
		if _, err := p.engine().Assign(t.Context(), govern.StepOptions{}); err != nil {
			t.Fatal(err)
		}
		_, err := p.engine().Submit(t.Context(), govern.SubmitOptions{Form: form})
		if fault != "" {
			if err == nil || !strings.Contains(err.Error(), fault) || !strings.Contains(hint(err), p.root) {
				t.Errorf("%s: %v", authority, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		p.step(govern.OutcomeAccepted)
		var actions []string
		for _, f := range p.proposals()[0].Files {
			actions = append(actions, f.Action)
		}
		if strings.Join(actions, " ") != "modify create delete" {
			t.Errorf("%v", actions)
		}
	}
}
