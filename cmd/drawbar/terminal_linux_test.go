package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/modelserver"
	"github.com/drawbar/drawbar/transport/pty/ptytest"
)

// screen is drawbar on a terminal of its own.
type screen struct {
	*ptytest.Screen
	cmd *exec.Cmd
}

// onTerminal starts drawbar on a terminal. The model of its agent answers with the script.
func onTerminal(t *testing.T, columns uint16, script string, args ...string) *screen {
	t.Helper()
	dir := t.TempDir()
	return onTerminalIn(t, dir, stage(t, dir), columns, "", script, args...)
}

// onTerminalIn is onTerminal on a machine that stage made in dir. typed lies on the terminal before the program starts.
func onTerminalIn(t *testing.T, dir string, env []string, columns uint16, typed, script string, args ...string) *screen {
	t.Helper()
	if script != "" {
		parsed, err := modelserver.Parse([]byte(script))
		if err != nil {
			t.Fatal(err)
		}
		model, err := modelserver.New(parsed, modelserver.Options{}).Listen(context.Background(), "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = model.Close() })
		env = append(env, "ANTHROPIC_BASE_URL="+model.URL())
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "bin", "acp-agent")); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	s := &screen{cmd: exec.Command(filepath.Join(dir, "bin", "drawbar"), args...)}
	s.cmd.Dir, s.cmd.Env = filepath.Join(dir, "work"), append([]string{"TERM=xterm"}, env...)
	s.Screen = ptytest.Start(t, s.cmd, columns, typed)
	return s
}

// await is Await that gives all the screen shows.
func (s *screen) await(after int, want string) string {
	s.Await(after, want)
	return s.Shown()
}

// asks ends a permission question.
const asks = "[n]o  [e]dit  [?] "

const writesAFile = `{"turns":[{"text":"I will write it.","tools":[{"name":"Write","input":{"file_path":"made.txt","content":"made"}}],"delayMs":400},{"text":"Done."}]}`

// A question stands on the screen in one piece, below what it is about; the status line waits; a blank line asks again.
func TestQuestionOnATerminal(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, 100, writesAFile, "run", "claude", "write it")
	text := s.await(0, asks)
	said, question := strings.Index(text, "I will write it."), strings.Index(text, "? Write\r\n    made.txt\r\n    + made\r\n")
	if said < 0 || question < said {
		t.Errorf("the message at %d, the question at %d:\n%q", said, question, text)
	}
	time.Sleep(400 * time.Millisecond) // three frames of the status line
	if late := s.Shown(); late != text {
		t.Errorf("written under the open question: %q", late[len(text):])
	}
	s.Type("\n")
	s.await(len(text), asks)
	s.Type("y\n")
	text = s.await(len(text), "Done.")
	if code := s.Exit(); code != 0 || !strings.Contains(text, "✓ Write made.txt +1\r\n") {
		t.Errorf("exit code %d:\n%q", code, s.Shown())
	}
	if b, err := os.ReadFile(filepath.Join(s.cmd.Dir, "made.txt")); err != nil || string(b) != "made" {
		t.Errorf("made.txt: %q, %v", b, err)
	}
}

// Another command than the one that is asked about can be allowed; it is the one that runs and that is shown.
func TestPermissionEdit(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, 100, `{"turns":[{"tools":[{"name":"shell","input":{"command":"touch asked.txt"}}]},{"text":"Done."}]}`, "run", "harness/anthropic/model-x", "write it")
	text := s.await(0, asks)
	s.Type("e\n")
	text = s.await(len(text), asks)
	if !strings.Contains(text, "type e and the command to allow instead: e touch asked.txt\r\n") {
		t.Errorf("%q", text)
	}
	s.Type("e touch edited.txt\n")
	text = s.await(len(text), "Done.")
	if !strings.Contains(text, "allowed: instead: touch edited.txt\r\n") || !strings.Contains(text, "✓ shell touch edited.txt") {
		t.Errorf("%q", text)
	}
	s.Exit()
	for name, want := range map[string]bool{"asked.txt": false, "edited.txt": true} {
		if _, err := os.Stat(filepath.Join(s.cmd.Dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// e opens the editor, which has the terminal for itself, in a run, a conversation and from another terminal; what it made is what runs.
func TestPermissionEditor(t *testing.T) {
	t.Parallel()
	editor := filepath.Join(t.TempDir(), "editor.sh")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\nprintf 'EDITOR> '; read -r line; echo \"$line\" > \"$1\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	const script = `{"turns":[{"tools":[{"name":"shell","input":{"command":"touch asked.txt"}}]},{"text":"Done."},{"text":"More."}]}`
	for _, where := range []string{"run", "conversation", "attach"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			env := append(stage(t, dir), "EDITOR="+editor)
			args := []string{"run", "harness/anthropic/model-x", "--run-id", "01JD0000000000000000000001", "write it"}
			if where != "run" {
				args = append(args, "-i")
			}
			s := onTerminalIn(t, dir, env, 100, "", script, args...)
			s.Await(0, asks)
			at, asked := 0, s
			if where == "attach" {
				asked = onTerminalIn(t, dir, env, 100, "", "", "attach", "01JD")
				asked.Await(0, asks)
			}
			asked.Type("e\n")
			at = asked.Await(at, "EDITOR> ")
			asked.Type("\n") // an editor that made nothing of it
			at = asked.Await(asked.Await(at, "what was edited is empty; nothing was answered"), asks)
			asked.Type("e\n")
			at = asked.Await(at, "EDITOR> ")
			asked.Type("touch edited.txt; echo made it\n")
			asked.Await(asked.Await(asked.Await(at, "allowed: instead: touch edited.txt; echo made it"), "│ made it"), "Done.")
			if where != "run" {
				at = s.Await(s.Await(0, "Done."), prompt)
				s.Type("more\r") // the lines are read again
				s.Await(s.Await(at, "More."), prompt)
				s.Type("\x04")
			}
			if code := s.Exit(); code != 0 {
				t.Errorf("exit code %d:\n%q", code, s.Shown())
			}
			for name, want := range map[string]bool{"asked.txt": false, "edited.txt": true} {
				if _, err := os.Stat(filepath.Join(s.cmd.Dir, name)); (err == nil) != want {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// A permission question shows what would be written; what is no answer asks again, v shows all of it, and a allows the next ones, too.
func TestPermissionKeys(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a line\\n", 40)
	s := onTerminal(t, 100, `{"turns":[{"tools":[{"name":"Write","input":{"file_path":"first.txt","content":"`+long+`"}}]},
		{"tools":[{"name":"Write","input":{"file_path":"second.txt","content":"two"}}]},
		{"tools":[{"name":"Write","input":{"file_path":"../third.txt","content":"three"}}]},{"text":"Done."}]}`, "run", "claude", "write it")
	const keys = "Allow? [y]es  [a]lways Edit(**)  [n]o  [e]dit  [v]iew all  [?] "
	text := s.await(0, keys)
	if !strings.Contains(text, "first.txt\r\n") || strings.Count(text, "+ a line") != 16 || !strings.Contains(text, "… 24 more lines") {
		t.Errorf("the question:\n%q", text)
	}
	s.Type("sure thing\n")
	text = s.await(len(text), keys)
	if !strings.Contains(text, `"sure thing" is not an answer; to deny it with a reason: n REASON`) {
		t.Errorf("%q", text)
	}
	s.Type("?\n")
	text = s.await(len(text), keys)
	if !strings.Contains(text, "from now on in this run those that the rule Edit(**) allows") {
		t.Errorf("%q", text)
	}
	at := len(text)
	s.Type("v\n")
	text = s.await(at, asks)
	if strings.Count(text[at:], "+ a line") != 40 {
		t.Errorf("all of it:\n%q", text[at:])
	}
	if _, err := os.Stat(filepath.Join(s.cmd.Dir, "first.txt")); err == nil {
		t.Error("it is written before the answer")
	}
	at = len(text)
	s.Type("a\n")
	text = s.await(at, "/third.txt)  [n]o  [e]dit  [?] ")
	if strings.Count(text[at:], "Allow?") != 1 || !strings.Contains(text[at:], "allowed: by the rule Edit(**)") {
		t.Errorf("the second write:\n%q", text[at:])
	}
	s.Type("n keep it simple\n")
	s.await(len(text), "denied: keep it simple")
	s.Exit()
	for name, want := range map[string]bool{"first.txt": true, "second.txt": true, "../third.txt": false} {
		if _, err := os.Stat(filepath.Join(s.cmd.Dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An agent in a role of a governed run asks the person at the terminal when nothing says otherwise.
func TestGovernedAgentAsksOnATerminal(t *testing.T) {
	t.Parallel()
	const before = `cat > agentxchain.json <<END
{"schema_version":"1.0","project":{"id":"p","name":"P"},
 "roles":{"dev":{"title":"D","mandate":"Build.","write_authority":"authoritative","runtime":"agent"}},
 "runtimes":{"agent":{"type":"agent","agent":"claude"}},
 "routing":{"build":{"entry_role":"dev","allowed_next_roles":["dev"],"exit_gate":"built"}},"gates":{"built":{}}}
END
echo .agentxchain/ > .gitignore
git init -q; git add -A; git commit -qm start`
	for answer, made := range map[string]bool{"y\n": true, "n\n": false, "\nn\n": false} {
		dir := t.TempDir()
		env := stage(t, dir)
		c := exec.Command("sh", "-ec", before)
		c.Dir, c.Env = filepath.Join(dir, "work"), env
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		s := onTerminalIn(t, dir, env, 100, "", writesAFile, "govern", "step", "--trust")
		text := s.await(0, "allow? [y/N] ")
		if !strings.Contains(text, "made.txt") {
			t.Errorf("the question does not say what for:\n%q", text)
		}
		if _, err := os.Stat(filepath.Join(s.cmd.Dir, "made.txt")); err == nil {
			t.Fatal("it is made before the answer")
		}
		s.Type(answer)
		s.Exit()
		if _, err := os.Stat(filepath.Join(s.cmd.Dir, "made.txt")); (err == nil) != made {
			t.Errorf("%q: %v\n%q", answer, err, s.Shown())
		}
	}
}

// A person hands in their turn by answers: one that cannot be is asked for again, and nothing is staged unless all are given.
func TestSubmitAsksOnATerminal(t *testing.T) {
	t.Parallel()
	const before = `cat > agentxchain.json <<END
{"schema_version":"1.0","project":{"id":"p","name":"P"},
 "roles":{"qa":{"title":"Q","mandate":"Doubt it.","write_authority":"review_only","runtime":"hand"},"dev":{"title":"D","mandate":"Build.","write_authority":"authoritative","runtime":"hand"}},
 "runtimes":{"hand":{"type":"manual"}},
 "routing":{"plan":{"entry_role":"qa","allowed_next_roles":["qa"],"exit_gate":"planned"},"build":{"entry_role":"dev","allowed_next_roles":["dev"],"exit_gate":"built"}},
 "gates":{"planned":{},"built":{}}}
END
echo .agentxchain/ > .gitignore
git init -q; git add -A; git commit -qm start`
	const did, object, check, phase, next, end = "What did you do", "What do you object to?", "What did you check?", "Which phase", "Which role", "Should the run end?"
	type exchange struct{ question, answer string }
	for name, c := range map[string]struct {
		idle bool // no turn is made ready
		says []exchange
		last string // what it shows in the end
		code int
		want []string // of the staged result
	}{
		"answered": {says: []exchange{{did, "\n"}, {"a summary is required", ""}, {did, "I looked\n"}, {object, "\n"}, {"at least one objection", ""}, {object, "high: it is slow\n"},
			{object, "no tests\n"}, {object, "\n"}, {check, "ran it\n"}, {phase, "nowhere\n"}, {"nowhere", ""}, {phase, "\n"}, {next, "nobody\n"}, {"nobody", ""}, {next, "qa\n"},
			{end, "perhaps\n"}, {"y or n", ""}, {end, "n\n"}}, last: "done",
			want: []string{`"summary": "I looked"`, `"severity": "high"`, `"statement": "no tests"`, `"evidence_summary": "ran it"`, `"proposed_next_role": "qa"`}},
		"a phase": {says: []exchange{{did, "I planned\n"}, {object, "low: a typo\n"}, {object, "\n"}, {check, "\n"}, {phase, "build\n"}, {next, "dev\n"}}, last: "done",
			want: []string{`"phase_transition_request": "build"`, `"proposed_next_role": "dev"`}},
		"the end": {says: []exchange{{did, "all\n"}, {object, "low: a typo\n"}, {object, "\n"}, {check, "\n"}, {phase, "\n"}, {next, "\n"}, {end, "Y\n"}}, last: "done",
			want: []string{`"run_completion_request": true`, `"proposed_next_role": "human"`}},
		"Ctrl-C":  {says: []exchange{{did, "I looked\n"}, {object, "\x03"}}, last: "interrupt", code: 130},
		"Ctrl-D":  {says: []exchange{{did, "I looked\n"}, {object, "\x04"}}, last: "nothing was submitted", code: 130},
		"no turn": {idle: true, last: "no turn is active", code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			env := stage(t, dir)
			script := before
			if !c.idle {
				script += "; drawbar govern step --no-wait --trust"
			}
			sh := exec.Command("sh", "-ec", script)
			sh.Dir, sh.Env = filepath.Join(dir, "work"), env
			if out, err := sh.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			s := onTerminalIn(t, dir, env, 160, "", "", "govern", "submit")
			at := 0
			for _, x := range c.says {
				at = s.Await(at, x.question)
				s.Type(x.answer)
			}
			s.Await(at, c.last)
			if code := s.Exit(); code != c.code {
				t.Errorf("exit code %d:\n%q", code, s.Shown())
			}
			staged, err := filepath.Glob(filepath.Join(s.cmd.Dir, ".agentxchain", "staging", "*", "turn-result.json"))
			if err != nil || len(staged) != min(len(c.want), 1) {
				t.Fatalf("staged: %v, %v", staged, err)
			}
			for _, want := range c.want {
				if b, err := os.ReadFile(staged[0]); err != nil || !strings.Contains(string(b), want) {
					t.Errorf("the result lacks %s:\n%s", want, b)
				}
			}
		})
	}
}

// What rewrites files of the project asks first on a terminal: only y does it, typing ahead does not count, and -y asks nothing.
func TestConfirmsOnATerminal(t *testing.T) {
	t.Parallel()
	const governed = "git init -q; drawbar govern init --name P --dev-command 'true {prompt}' -y; git add -A; git commit -qm start"
	const old = `echo '{"version":3,"project":"P","agents":{"dev":{"mandate":"Build."}}}' > agentxchain.json; git init -q`
	for _, c := range []struct {
		name, before    string
		args            []string
		asks, shows     string // the question, and what stands above it
		made, done, try string
	}{
		{"template", governed, []string{"template", "set", "library"}, "continue? [y/N]", "template generic would be library", ".planning/public-api.md", "template generic is library", "drawbar govern template set library --yes"},
		{"migrate", old, []string{"migrate"}, "Continue? [y/N]", "keeps the old one as agentxchain.json.bak", "agentxchain.json.bak", "P is a governed project", "drawbar govern migrate --yes"},
	} {
		for answer, exit := range map[string]int{"y\n": 0, " YES\n": 0, "n\n": 2, "\n": 2, "yo\n": 2, "\x04": 2, "\x03": -1, "-y": 0, "--yes": 0, "--json": 0, "typed ahead": 2} {
			t.Run(c.name+" "+strings.TrimSpace(strings.Trim(strconv.Quote(answer), `"`)), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				env := stage(t, dir)
				sh := exec.Command("sh", "-ec", c.before)
				sh.Dir, sh.Env = filepath.Join(dir, "work"), env
				if out, err := sh.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				args, typed := append([]string{"govern"}, c.args...), ""
				asked := !strings.HasPrefix(answer, "-")
				switch {
				case !asked:
					args = append(args, answer)
				case answer == "typed ahead":
					typed, answer = "y\n", "n\n"
				}
				s := onTerminalIn(t, dir, env, 160, typed, "", args...)
				if asked {
					s.Await(0, c.asks)
					if !strings.Contains(s.Shown(), c.shows) {
						t.Errorf("the question does not say %q:\n%q", c.shows, s.Shown())
					}
					if _, err := os.Stat(filepath.Join(s.cmd.Dir, c.made)); err == nil {
						t.Error("it is done before the answer")
					}
					s.Type(answer)
				}
				if code := s.Exit(); code != exit {
					t.Errorf("exit code %d:\n%q", code, s.Shown())
				}
				text := s.Shown()
				if strings.Contains(text, c.asks) != asked {
					t.Errorf("asked although not to be, or not:\n%q", text)
				}
				if _, err := os.Stat(filepath.Join(s.cmd.Dir, c.made)); (err == nil) != (exit == 0) {
					t.Errorf("%s: %v\n%q", c.made, err, text)
				}
				if exit == 2 && (!strings.Contains(text, "nothing was changed") || !strings.Contains(text, c.try)) {
					t.Errorf("a refusal says neither what happened nor %q:\n%q", c.try, text)
				}
				if exit == 0 && answer != "--json" && !strings.Contains(text, c.done) {
					t.Errorf("it does not say %q:\n%q", c.done, text)
				}
			})
		}
	}
}

// Ctrl-C ends the action of a gate, and the gate waits as before.
func TestInterruptKeepsTheGate(t *testing.T) {
	t.Parallel()
	const before = `cat > agentxchain.json <<END
{"schema_version":"1.0","project":{"id":"p","name":"P"},
 "roles":{"dev":{"title":"D","mandate":"Build.","write_authority":"authoritative","runtime":"hand"}},"runtimes":{"hand":{"type":"manual"}},
 "routing":{"build":{"entry_role":"dev","allowed_next_roles":["dev"],"exit_gate":"built"}},"workflow_kit":{},
 "gates":{"built":{"requires_human_approval":true,"gate_actions":[{"run":"touch .agentxchain/begun; sleep 600"}]}}}
END
echo .agentxchain/ > .gitignore
git init -q; git add -A; git commit -qm start
drawbar govern step --no-wait --trust
drawbar govern submit --summary all --complete
drawbar govern step`
	dir := t.TempDir()
	env := stage(t, dir)
	c := exec.Command("sh", "-ec", before)
	c.Dir, c.Env = filepath.Join(dir, "work"), env
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := onTerminalIn(t, dir, env, 100, "", "", "govern", "approve")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(s.cmd.Dir, ".agentxchain", "begun")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the action does not begin:\n%q", s.Shown())
		}
	}
	s.Type("\x03")
	if code := s.Exit(); code != 130 {
		t.Errorf("exit code %d:\n%q", code, s.Shown())
	}
	c = exec.Command(filepath.Join(dir, "bin", "drawbar"), "govern", "status")
	c.Dir, c.Env = s.cmd.Dir, env
	if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "drawbar govern approve") {
		t.Errorf("the gate does not wait any more: %v\n%s", err, out)
	}
}

// Two terminals follow one run: one answers, the other shows it on a line of its own; Ctrl-C leaves the attached one alone.
func TestTwoTerminals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := stage(t, dir)
	first := onTerminalIn(t, dir, env, 100, "", `{"turns":[{"tools":[{"name":"Write","input":{"file_path":"made.txt","content":"made"}}]},{"hang":true}]}`, "run", "claude", "write it")
	shown := len(first.await(0, asks))
	ps := exec.Command(filepath.Join(dir, "bin", "drawbar"), "ps", "--quiet")
	ps.Dir, ps.Env = first.cmd.Dir, env
	run, err := ps.Output()
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(string(run))
	second := onTerminalIn(t, dir, env, 100, "", "", "attach", id)
	second.await(0, "Attached to claude: a line is a message, /help lists commands, Ctrl-C leaves and the run continues.\r\n")
	second.await(0, asks)
	second.Type("y\n")
	if text := first.await(shown, "allowed"); !strings.Contains(text, asks+"\r\n") {
		t.Errorf("the answer of the other terminal stands behind the question:\n%q", text)
	}
	second.await(0, "allowed")
	second.Type("\x03")
	second.await(0, "Run "+id+" is still running.")
	if code := second.Exit(); code != 0 {
		t.Errorf("exit code %d:\n%q", code, second.Shown())
	}
	first.Type("\x03")
	first.await(shown, "interrupted")
	first.Type("\x03") // this agent obeys no interrupt
	if code := first.Exit(); code != 13 {
		t.Errorf("exit code %d:\n%q", code, first.Shown())
	}
}

// Whoever attaches to a conversation edits their messages as whoever runs it, sees what others say above them, and leaves it alone.
func TestAttachEdits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := stage(t, dir)
	first := onTerminalIn(t, dir, env, 100, "", `{"turns":[{"match":{"contains":"hello"},"text":"HELLO"},{"match":{"contains":"other"},"text":"OTHER"},{"text":"FIRST"}]}`, "run", "claude", "-i", "--run-id", "01JD0000000000000000000001", "go")
	at := first.Await(first.Await(0, "FIRST"), prompt)
	second := onTerminalIn(t, dir, env, 100, "", "", "attach", "01JD")
	seen := second.Await(second.Await(0, "FIRST"), prompt)
	second.Type("helo\x1b[Dl")
	first.Type("other\r")
	first.Await(first.Await(at, "OTHER"), prompt)
	seen = second.Await(second.Await(seen, "OTHER"), "> hello") // still there
	second.Type("\r")
	seen = second.Await(second.Await(seen, "HELLO"), prompt)
	second.Type("\x03")
	second.Await(seen, "Run 01JD0000000000000000000001 is still running.")
	if code := second.Exit(); code != 0 || !strings.Contains(second.Shown()[seen:], "\x1b[?2004l") {
		t.Errorf("exit code %d:\n%q", code, second.Shown())
	}
	third := onTerminalIn(t, dir, env, 100, "", "", "attach", "01JD")
	third.Await(third.Await(0, "HELLO"), prompt)
	third.Type("/quit\r")
	third.Await(0, "Run 01JD0000000000000000000001 is still running.")
	if code := third.Exit(); code != 0 {
		t.Errorf("exit code %d:\n%q", code, third.Shown())
	}
	first.Type("\x04")
	if code := first.Exit(); code != 0 {
		t.Errorf("exit code %d:\n%q", code, first.Shown())
	}
}

// What was typed before a question was shown does not answer it.
func TestTypeAheadAnswersNoQuestion(t *testing.T) {
	t.Parallel()
	slow := strings.Replace(writesAFile, `"delayMs":400`, `"delayMs":3000`, 1) // on a busy machine the question must still come after the answer
	s := onTerminal(t, 100, slow, "run", "claude", "write it")
	s.await(0, "claude ·") // the status line: the agent works
	s.Type("y\n")
	text := s.await(0, asks)
	time.Sleep(200 * time.Millisecond)
	if _, err := os.Stat(filepath.Join(s.cmd.Dir, "made.txt")); err == nil {
		t.Fatalf("the question was answered before it was shown:\n%q", s.Shown())
	}
	s.Type("n\n")
	text = s.await(len(text), "denied by the user")
	if strings.Contains(text, "denied: denied") {
		t.Errorf("said twice:\n%q", text)
	}
	s.Exit()
}

// The status line never wraps, and neither does the line of a tool or of its output.
func TestStatusLineFits(t *testing.T) {
	t.Parallel()
	for _, columns := range []uint16{40, 60, 80, 200} {
		script := `{"onExhausted":"text:Done.","turns":[{"tools":[{"name":"Bash","input":{"command":"sleep 1; echo ` + strings.Repeat("long ", 60) + `; exit 3"}}]},{"text":"Done."}]}`
		s := onTerminal(t, columns, script, "run", "claude", "--yolo", "go")
		s.Exit()
		for _, frame := range regexp.MustCompile(`\r\x1b\[K([⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏][^\r\n\x1b]+)`).FindAllStringSubmatch(s.Shown(), -1) {
			if n := len([]rune(frame[1])); n >= int(columns) {
				t.Errorf("%d characters on %d columns: %q", n, columns, frame[1])
			}
		}
		lines := regexp.MustCompile(`(?:✗ Bash sleep 1;|  │ )[^\r\n]+`).FindAllString(s.Shown(), -1)
		if len(lines) < 2 || !strings.HasSuffix(strings.ReplaceAll(lines[0], "\x1b[0m", ""), "exit code 3") {
			t.Errorf("the lines of the tool on %d columns: %q", columns, lines)
		}
		for _, line := range lines {
			if n := len([]rune(regexp.MustCompile(`\x1b\[[0-9;]*[mK]`).ReplaceAllString(line, ""))); n >= int(columns) {
				t.Errorf("%d characters on %d columns: %q", n, columns, line)
			}
		}
	}
}

// inRepository makes the work directory of a stage a git repository.
func inRepository(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "start"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = filepath.Join(dir, "work"), append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %s", args, out)
		}
	}
}

// The questions of racers are asked one at a time, each with the name of who asks.
func TestRaceAsks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := stage(t, dir)
	inRepository(t, dir)
	const write = `{"match":{"contains":"write it"},"tools":[{"name":"Write","input":{"file_path":"made.txt","content":"made"}}],"repeat":true}`
	s := onTerminalIn(t, dir, env, 80, "", `{"turns":[`+write+`,{"text":"Done.","repeat":true}]}`, "run", "--race", "claude:2", "write it")
	at := 0
	for range 2 {
		name := regexp.MustCompile(`claude-[12] asks:`)
		at = s.Await(at, asks)
		if n := len(name.FindAllString(s.Shown(), -1)); n != strings.Count(s.Shown(), asks) {
			t.Errorf("%d names:\n%q", n, s.Shown())
		}
		s.Type("y\n")
	}
	s.Await(at, "to have the work of claude-")
	if code := s.Exit(); code != 0 || strings.Count(s.Shown(), "done") < 2 || !strings.Contains(s.Shown(), "+1 -0") {
		t.Errorf("exit code %d:\n%q", code, s.Shown())
	}
}

// The last line of a batch says how far it is, also on a narrow terminal; results stand above it, each in a line of its own.
func TestBatchOnATerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := stage(t, dir)
	file := filepath.Join(dir, "work", "items.jsonl")
	text := `{"prompt":"a","command":["true"]}` + "\n" + `{"prompt":"b","command":["false"]}` + "\n" + `{"id":"last","prompt":"c","command":["sh","-c","sleep 2"]}` + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := onTerminalIn(t, dir, env, 60, "", "", "batch", file, "command")
	s.Await(0, "batch · ")
	s.Await(s.Await(0, "2 of 3, 1 failed"), "last command")
	if code := s.Exit(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	for _, line := range []string{"✓ 1  command", "✗ 2  command", "✓ last  command", "3 items: 3 done now"} {
		if !regexp.MustCompile(`(^|\n|\x1b\[[KJ])` + line).MatchString(s.Shown()) {
			t.Errorf("%q does not begin a line of %q", line, s.Shown())
		}
	}
}

// The board of live runs shows a run that waits, and answers it.
func TestTop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := append(stage(t, dir), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	run := onTerminalIn(t, dir, env, 100, "", writesAFile, "run", "-d", "claude", "--approve", "prompt", "write it")
	if code := run.Exit(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, run.Shown())
	}
	s := onTerminalIn(t, dir, env, 100, "", "", "top")
	s.Await(0, "1 waiting for you")
	s.Await(0, "? Write made.txt")
	s.Type("a")
	at := s.Await(0, "+ made")
	s.Type("what\r")
	at = s.Await(at, "is not an answer")
	s.Type("y\r")
	at = s.Await(at, "approved: ")
	s.Await(at, "completed")
	s.Type("q")
	if code := s.Exit(); code != 0 || !strings.Contains(s.Shown(), "\x1b[?1049l") {
		t.Errorf("exit code %d:\n%q", code, s.Shown())
	}
	if made, err := os.ReadFile(filepath.Join(dir, "work", "made.txt")); string(made) != "made" {
		t.Errorf("%q %v", made, err)
	}
}

// The board changes what is asked about in the person's editor, and shows only the runs that words on its command line name.
func TestTopEditor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "edit.sh")
	if err := os.WriteFile(script, []byte("sed s/made/changed/ $1 > $1.new && mv $1.new $1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(stage(t, dir), "XDG_STATE_HOME="+filepath.Join(dir, "state"), "EDITOR=sh "+script)
	run := onTerminalIn(t, dir, env, 100, "", `{"turns":[{"tools":[{"name":"write","input":{"path":"made.txt","content":"made"}}]},{"text":"Done."}]}`, "run", "-d", "harness/anthropic/model-x", "--approve", "prompt", "write it")
	if code := run.Exit(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, run.Shown())
	}
	s := onTerminalIn(t, dir, env, 100, "", "", "top", "harness", "write")
	s.Await(0, "with harness write")
	s.Await(0, "waiting for you")
	s.Type("a")
	at := s.Await(0, "+ made")
	s.Type("e\r")
	at = s.Await(at, "approved as you changed it: ")
	s.Await(at, "completed")
	s.Type("q")
	if code := s.Exit(); code != 0 {
		t.Errorf("exit code %d:\n%q", code, s.Shown())
	}
	if made, err := os.ReadFile(filepath.Join(dir, "work", "made.txt")); string(made) != "changed" {
		t.Errorf("%q %v", made, err)
	}
	other := onTerminalIn(t, dir, env, 100, "", "", "top", "nosuch")
	other.Await(0, "with nosuch")
	other.Type("q")
	if other.Exit(); strings.Contains(other.Shown(), "write it") {
		t.Errorf("%q", other.Shown())
	}
}

// A session is chosen from the list of the agent's sessions here.
func TestPickSession(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := append(stage(t, dir), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	const script = `{"turns":[{"text":"noted"}]}`
	of := map[string]string{} // sessions
	session := regexp.MustCompile(`session (anthropic:\S+)`)
	for _, fruit := range []string{"PLUM", "PEAR"} {
		s := onTerminalIn(t, dir, env, 80, "", script, "run", "anthropic/model-talk", "remember "+fruit)
		if code := s.Exit(); code != 0 {
			t.Fatalf("exit code %d:\n%s", code, s.Shown())
		}
		of[fruit] = session.FindString(s.Shown())
	}
	again := func(flag string) *screen {
		return onTerminalIn(t, dir, env, 80, "", script, "run", "anthropic/model-talk", flag, "pick", "what was it?")
	}
	for _, keys := range []string{"\x1b[B\r", "plum\r", "nosuch\x15pulm\x7f\x7f\x7flum\r"} {
		s := again("--session")
		s.Await(s.Await(0, "choose a session"), "remember PLUM")
		s.Type(keys)
		if code := s.Exit(); code != 0 || session.FindString(s.Shown()) != of["PLUM"] {
			t.Errorf("%q: exit code %d, want %s:\n%s", keys, code, of["PLUM"], s.Shown())
		}
		p := onTerminalIn(t, dir, env, 80, "", script, "run", "anthropic/model-talk", "--session", strings.TrimPrefix(of["PEAR"], "session "), "so PEAR is newer")
		if code := p.Exit(); code != 0 {
			t.Fatalf("exit code %d:\n%s", code, p.Shown())
		}
	}
	s := again("--fork")
	s.Await(0, "choose a session")
	s.Type("\x1b")
	s.Await(0, "nobody chose a session")
	if code := s.Exit(); code != 13 {
		t.Errorf("exit code %d:\n%s", code, s.Shown())
	}
}

// Ctrl-C ends a race with what there is, also while the first check runs.
func TestRaceInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := stage(t, dir)
	inRepository(t, dir)
	s := onTerminalIn(t, dir, env, 80, "", `{"turns":[{"text":"Late.","delayMs":50000,"repeat":true}]}`, "run", "--race", "claude:2", "--check", "sleep 50", "write it")
	s.Await(s.Await(0, "claude-2 "), "waiting for the model")
	s.Type("\x03")
	if code := s.Exit(); code != 130 || strings.Count(s.Shown(), "stopped") < 2 {
		t.Errorf("exit code %d:\n%q", code, s.Shown())
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", "drawbar", "worktrees", "[^t.]*")); len(left) > 0 { // all but the trash and the names of repositories
		t.Errorf("left: %v", left)
	}
}

// prompt is that of a line that is edited.
const prompt = "\x1b[?2004h> "

// The line of a conversation can be edited, repeated, completed and begun anew; a message may have many lines.
func TestLineEditing(t *testing.T) {
	t.Parallel()
	for _, columns := range []uint16{40, 80} {
		dir := t.TempDir()
		env := append(stage(t, dir), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
		s := onTerminalIn(t, dir, env, columns, "", `{"turns":[{"match":{"contains":"hello"},"text":"HELLO"},{"match":{"contains":"again"},"text":"AGAIN"},
			{"match":{"contains":"word two"},"text":"WORD"},{"match":{"contains":"stopped and on"},"text":"ON"},{"match":{"contains":"NOT one MANY more"},"text":"MANY"},{"match":{"contains":"line a\nline b\nline c"},"text":"PASTED","repeat":true},{"match":{"contains":"你好X世界"},"text":"WIDE"},{"match":{"contains":"first\nsecond\nthird"},"text":"LINES","repeat":true},
			{"match":{"contains":"sk-ant-"},"text":"SECRET"},{"text":"UNEXPECTED","repeat":true}]}`, "run", "claude")
		at := s.Await(0, prompt)
		ask := func(keys, answer string) {
			t.Helper()
			s.Type(keys)
			at = s.Await(s.Await(at, answer), prompt)
		}
		ask("helo\x1b[Dl\r", "HELLO")
		ask("ain\x01ag\r", "AGAIN")
		s.Type("junk that is not sent")
		s.Type("\x03")
		at = s.Await(at, "press Ctrl-C again to quit")
		ask("word one\x17two\r", "WORD")
		ask("stopped \x1aand on\r", "ON") // the shell of this terminal cannot stop it
		ask("one mor\x1bbMANY \x1bOFe\x1b[1~NOT \r", "MANY")
		ask("\x1b[200~line a\rline b\rli\x1b[201~ne c\r", "PASTED")
		s.Type("\x1b[200~line a\rline b\rli") // and its end never comes
		time.Sleep(500 * time.Millisecond)
		s.Type("\x03")
		at = s.Await(at, "… li")
		ask("ne c\r", "PASTED")
		s.Type("你好世界\x1b[D\x1b[D")
		at = s.Await(at, "\r\x1b[6C") // each has two columns
		ask("X\r", "WIDE")
		ask("first\\\rsecond\x1b\rthird\r", "LINES")
		ask("\x1b[A\r", "LINES")
		ask("key sk-ant-api03-"+strings.Repeat("Ab1-", 20)+"\r", "SECRET")
		ask("/co\t\r", "out so far\r\n")
		ask("/model\r", "  another model: /quit, then: drawbar run claude/MODEL --continue -i\r\n")
		ask("/sessions\r", "no sessions\r\n")
		s.Type("\x03")
		at = s.Await(at, "press Ctrl-C again to quit")
		s.Type("\x03")
		if code := s.Exit(); code != 0 || strings.Contains(s.Shown(), "UNEXPECTED") || !strings.HasSuffix(strings.TrimRight(s.Shown()[:strings.LastIndex(s.Shown(), "claude ·")], "\r\n"), "\x1b[?2004l") {
			t.Errorf("%d columns: exit code %d\n%q", columns, code, s.Shown())
		}
		file := filepath.Join(dir, "state", "drawbar", "conversation-history.jsonl")
		b, err := os.ReadFile(file)
		info, _ := os.Stat(file)
		if want := "\"hello\"\n\"again\"\n\"word two\"\n\"stopped and on\"\n\"NOT one MANY more\"\n\"line a\\nline b\\nline c\"\n\"你好X世界\"\n\"first\\nsecond\\nthird\"\n\"/cost \"\n\"/model\"\n\"/sessions\"\n"; err != nil || string(b) != want || info.Mode().Perm() != 0o600 {
			t.Errorf("the history, %v %v:\n%s", info.Mode(), err, b)
		}
		// The next conversation has it, and Ctrl-D leaves.
		s = onTerminalIn(t, dir, env, columns, "", `{"turns":[{"match":{"contains":"word two"},"text":"WORD"}]}`, "run", "claude")
		at = s.Await(0, prompt)
		s.Type(strings.Repeat("\x1b[A", 9) + "\r")
		at = s.Await(s.Await(at, "WORD"), prompt)
		s.Type("\x04")
		if code := s.Exit(); code != 0 {
			t.Errorf("exit code %d\n%q", code, s.Shown())
		}
	}
}

// A signal at the first prompt gives the terminal back.
func TestSignalAtThePrompt(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, 80, "", "run", "claude")
	s.Await(0, prompt)
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.Exit(); code != execution.ExitAborted || !strings.Contains(s.Shown(), "\x1b[?2004l") {
		t.Errorf("exit code %d:\n%q", code, s.Shown())
	}
}

// Without escape sequences, lines are read as they come.
func TestDumbTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := onTerminalIn(t, dir, append(stage(t, dir), "TERM=dumb"), 80, "", `{"turns":[{"text":"First answer."}]}`, "run", "claude")
	s.Await(0, "Ctrl-C twice leaves.\r\n> ")
	s.Type("one\n")
	s.Await(s.Await(0, "First answer."), "> ")
	s.Type("/quit\n")
	if code := s.Exit(); code != 0 || strings.Contains(s.Shown(), "\x1b[?2004") {
		t.Errorf("exit code %d:\n%q", code, s.Shown())
	}
}

// Ctrl-C in a conversation interrupts the turn; the conversation goes on until it is left.
func TestInterruptKeepsTheConversation(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, 100, "", "run", "acp", "-i", "work", "--", "acp-agent", "hang")
	s.await(0, "working")
	s.Type("\x03")
	text := s.await(0, "> ")
	if !strings.Contains(text, "interrupted") {
		t.Errorf("nothing says that the turn was interrupted:\n%q", text)
	}
	s.Type("again\n")
	s.Await(len(text), "hi there\r\n")
	text = s.await(len(text), prompt)
	s.Type("\x03")
	s.await(len(text), "press Ctrl-C again to quit")
	s.Type("\x03")
	if code := s.Exit(); code != 0 {
		t.Errorf("exit code %d:\n%q", code, s.Shown())
	}
}

// Without a prompt, a terminal gets a conversation.
func TestConversationWithoutAPrompt(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, 100, `{"turns":[{"text":"First answer."},{"text":"Second answer."}]}`, "run", "claude")
	at := s.Await(0, "A conversation with Claude Code: a line is a message, /help lists commands, Ctrl-C twice leaves.\r\n"+prompt)
	s.Type("one\n")
	at = s.Await(at, "First answer.")
	at = s.Await(at, "> ")
	s.Type("/help\n")
	at = s.Await(at, "/steer MSG")
	s.Type("/queue two\n")
	s.Await(at, "  queued for after this turn: two\r\n")
	at = s.Await(at, "Second answer.")
	s.await(at, "> ")
	s.Type("/quit\n")
	if code := s.Exit(); code != 0 {
		t.Errorf("exit code %d:\n%q", code, s.Shown())
	}
}

// Trust is asked for on a terminal, once, before anything runs. Whoever says no, or typed ahead, trusts nothing.
func TestTrustOnATerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := append(stage(t, dir), "DRAWBAR_CONFIG_DIR="+filepath.Join(dir, "config"))
	hooks := filepath.Join(dir, "work", ".drawbar", "hooks.json")
	ran := filepath.Join(dir, "ran")
	if err := os.MkdirAll(filepath.Dir(hooks), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hooks, []byte(`{"version":1,"hooks":[{"id":"theirs","agent":"*","hookType":"PreToolUse","handler":"command","target":"touch `+ran+`"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const asks = "Trust it? [y/n] "
	run := func(typed string) *screen {
		return onTerminalIn(t, dir, env, 100, typed, writesAFile, "run", "claude", "--yolo", "go")
	}

	s := run("y\n") // before it asks
	text := s.await(0, asks)
	for _, want := range []string{".drawbar/hooks.json, hooks.theirs (new)", "touch " + ran} {
		if !strings.Contains(text, want) {
			t.Errorf("the question does not show %q:\n%q", want, text)
		}
	}
	s.Type("n\n")
	if code := s.Exit(); code != 16 {
		t.Errorf("exit code %d:\n%q", code, s.Shown())
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the hook ran before it was trusted")
	}
	s = run("")
	s.await(0, asks)
	s.Type("y\n")
	s.await(0, "Done.")
	s.Exit()
	s = run("")
	s.Exit()
	if strings.Contains(s.Shown(), asks) {
		t.Errorf("it asks again:\n%q", s.Shown())
	}
}
