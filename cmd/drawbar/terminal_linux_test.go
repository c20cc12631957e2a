package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar/internal/modelserver"
	"github.com/drawbar/drawbar/transport/pty"
)

// screen is drawbar on a terminal of its own.
type screen struct {
	t      *testing.T
	term   *pty.Terminal
	cmd    *exec.Cmd
	mu     sync.Mutex
	text   bytes.Buffer
	exited chan error
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
	term, err := pty.Open(columns, 30)
	if err != nil {
		t.Skip("SKIPPED: this machine gives no pseudo-terminal:", err)
	}
	s := &screen{t: t, term: term, exited: make(chan error, 1)}
	s.cmd = exec.Command(filepath.Join(dir, "bin", "drawbar"), args...)
	s.cmd.Dir, s.cmd.Env = filepath.Join(dir, "work"), append(env, "TERM=xterm")
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = term.Slave, term.Slave, term.Slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s.keys(typed)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = term.Slave.Close() // the child has its own
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := term.Master.Read(buf)
			s.mu.Lock()
			s.text.Write(buf[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() { s.exited <- s.cmd.Wait() }()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = term.Keys.Close()
		_ = term.Master.Close()
	})
	return s
}

func (s *screen) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *screen) keys(keys string) {
	s.t.Helper()
	if _, err := s.term.Keys.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// await waits until the screen shows a text after what was shown before it, and gives all of it.
func (s *screen) await(after int, want string) string {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if text := s.shown(); len(text) >= after && strings.Contains(text[after:], want) {
			return text
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the screen does not show %q:\n%q", want, s.shown()[min(after, len(s.shown())):])
		}
	}
}

func (s *screen) exit() int {
	s.t.Helper()
	select {
	case <-s.exited:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(30 * time.Second):
		s.t.Fatalf("drawbar goes on:\n%q", s.shown())
		return 0
	}
}

const writesAFile = `{"turns":[{"text":"I will write it.","tools":[{"name":"Write","input":{"file_path":"made.txt","content":"made"}}],"delayMs":400},{"text":"Done."}]}`

// A question stands on the screen in one piece, below what it is about; the status line waits; a blank line asks again.
func TestQuestionOnATerminal(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, 100, writesAFile, "run", "claude", "write it")
	const asks = "allow it? [y]es, [n]o, or a reason to refuse: "
	text := s.await(0, asks)
	tool, question := strings.Index(text, "● Write"), strings.Index(text, "? Write")
	if tool < 0 || question < tool {
		t.Errorf("the tool at %d, the question at %d:\n%q", tool, question, text)
	}
	time.Sleep(400 * time.Millisecond) // three frames of the status line
	if late := s.shown(); late != text {
		t.Errorf("written under the open question: %q", late[len(text):])
	}
	s.keys("\n")
	s.await(len(text), asks)
	s.keys("y\n")
	s.await(len(text), "Done.")
	if code := s.exit(); code != 0 {
		t.Errorf("exit code %d:\n%q", code, s.shown())
	}
	if b, err := os.ReadFile(filepath.Join(s.cmd.Dir, "made.txt")); err != nil || string(b) != "made" {
		t.Errorf("made.txt: %q, %v", b, err)
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
		s.keys(answer)
		s.exit()
		if _, err := os.Stat(filepath.Join(s.cmd.Dir, "made.txt")); (err == nil) != made {
			t.Errorf("%q: %v\n%q", answer, err, s.shown())
		}
	}
}

// Two terminals follow one run: one answers, the other shows it on a line of its own; Ctrl-C leaves the attached one alone.
func TestTwoTerminals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := stage(t, dir)
	first := onTerminalIn(t, dir, env, 100, "", `{"turns":[{"tools":[{"name":"Write","input":{"file_path":"made.txt","content":"made"}}]},{"hang":true}]}`, "run", "claude", "write it")
	const asks = "allow it? [y]es, [n]o, or a reason to refuse: "
	shown := len(first.await(0, asks))
	ps := exec.Command(filepath.Join(dir, "bin", "drawbar"), "ps", "--quiet")
	ps.Dir, ps.Env = first.cmd.Dir, env
	run, err := ps.Output()
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(string(run))
	second := onTerminalIn(t, dir, env, 100, "", "", "attach", id)
	second.await(0, asks)
	second.keys("y\n")
	if text := first.await(shown, "allowed"); !strings.Contains(text, asks+"\r\n") {
		t.Errorf("the answer of the other terminal stands behind the question:\n%q", text)
	}
	second.await(0, "allowed")
	second.keys("\x03")
	second.await(0, "Run "+id+" goes on.")
	if code := second.exit(); code != 0 {
		t.Errorf("exit code %d:\n%q", code, second.shown())
	}
	first.keys("\x03")
	first.await(shown, "interrupted")
	first.keys("\x03") // this agent obeys no interrupt
	if code := first.exit(); code != 13 {
		t.Errorf("exit code %d:\n%q", code, first.shown())
	}
}

// What was typed before a question was shown does not answer it.
func TestTypeAheadAnswersNoQuestion(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, 100, writesAFile, "run", "claude", "write it")
	s.await(0, "claude ·") // the status line: the agent works
	s.keys("y\n")
	text := s.await(0, "or a reason to refuse: ")
	time.Sleep(200 * time.Millisecond)
	if _, err := os.Stat(filepath.Join(s.cmd.Dir, "made.txt")); err == nil {
		t.Fatalf("the question was answered before it was shown:\n%q", s.shown())
	}
	s.keys("n\n")
	text = s.await(len(text), "denied by the user")
	if strings.Contains(text, "denied: denied") {
		t.Errorf("said twice:\n%q", text)
	}
	s.exit()
}

// The status line never wraps.
func TestStatusLineFits(t *testing.T) {
	t.Parallel()
	for _, columns := range []uint16{40, 80} {
		script := `{"onExhausted":"text:Done.","turns":[{"tools":[{"name":"Bash","input":{"command":"sleep 1; echo ` + strings.Repeat("long ", 30) + `"}}]},{"text":"Done."}]}`
		s := onTerminal(t, columns, script, "run", "claude", "--yolo", "go")
		s.exit()
		for _, frame := range regexp.MustCompile(`\r\x1b\[K([⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏][^\r\n\x1b]+)`).FindAllStringSubmatch(s.shown(), -1) {
			if n := len([]rune(frame[1])); n >= int(columns) {
				t.Errorf("%d characters on %d columns: %q", n, columns, frame[1])
			}
		}
	}
}

// Ctrl-C in a conversation interrupts the turn; the conversation goes on until it is left.
func TestInterruptKeepsTheConversation(t *testing.T) {
	t.Parallel()
	s := onTerminal(t, 100, "", "run", "acp", "-i", "work", "--", "acp-agent", "hang")
	s.await(0, "working")
	s.keys("\x03")
	text := s.await(0, "> ")
	if !strings.Contains(text, "interrupted") {
		t.Errorf("nothing says that the turn was interrupted:\n%q", text)
	}
	s.keys("again\n")
	text = s.await(len(text), "hi there\r\n> ")
	s.keys("\x03")
	s.await(len(text), "press Ctrl-C again to leave")
	s.keys("\x03")
	if code := s.exit(); code != 0 {
		t.Errorf("exit code %d:\n%q", code, s.shown())
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
	s.keys("n\n")
	if code := s.exit(); code != 16 {
		t.Errorf("exit code %d:\n%q", code, s.shown())
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the hook ran before it was trusted")
	}
	s = run("")
	s.await(0, asks)
	s.keys("y\n")
	s.await(0, "Done.")
	s.exit()
	s = run("")
	s.exit()
	if strings.Contains(s.shown(), asks) {
		t.Errorf("it asks again:\n%q", s.shown())
	}
}
