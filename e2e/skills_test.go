//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/modelserver"
)

// newModel starts another model server and gives its address.
func newModel(t *testing.T, script string) string {
	t.Helper()
	url, _ := loggedModel(t, script, io.Discard)
	return url
}

func loggedModel(t *testing.T, script string, log io.Writer) (string, *modelserver.Server) {
	t.Helper()
	parsed, err := modelserver.Parse([]byte(script))
	if err != nil {
		t.Fatalf("script: %v\n%s", err, script)
	}
	s := modelserver.New(parsed, modelserver.Options{Log: log})
	r, err := s.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r.URL(), s
}

// listed are the agent's own words for the skills that it finds.
func (l *lab) listed() string {
	switch l.kit.name {
	case "claude", "qwen":
		return l.agent(append(bare[l.kit.name], map[bool][]string{true: {"--output-format=stream-json"}}[l.kit.name == "qwen"]...)...)
	case "gemini":
		return l.agent("gemini", "skills", "list")
	case "copilot":
		return l.agent("copilot", "skill", "list", "--json")
	case "codex":
		return l.codexSkills()
	case "omp":
		l.agent("omp", "--mode", "json", "-p", "hi")
		sent := l.sent()
		return sent[len(sent)-1] // the system prompt lists them
	case "pi":
		return l.agent("pi", "--mode", "json", "-p", "hi") // its first record is the system prompt
	}
	l.run("hi").completed(l.t)
	sent := l.sent()
	return sent[len(sent)-1]
}

func (l *lab) codexSkills() string {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "codex"), "app-server")
	cmd.Env, cmd.Dir = l.environ(), l.work
	in, err := cmd.StdinPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	defer func() { in.Close(); _ = cmd.Wait() }()
	fmt.Fprintf(in, `{"id":1,"method":"initialize","params":{"clientInfo":{"name":"e2e","title":"e2e","version":"1"}}}`+"\n"+`{"method":"initialized"}`+"\n"+
		`{"id":2,"method":"skills/list","params":{"cwds":[%s]}}`+"\n", q(l.work))
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), `{"id":2,`) {
			return lines.Text()
		}
	}
	l.t.Fatal("codex listed no skills")
	return ""
}

// What "drawbar skills add" copies is listed by the agent's own command.
func TestSkillIsListed(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"hello"}],"onExhausted":"last"}`)
		src := filepath.Join(l.root, "greet")
		if err := os.Mkdir(src, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(src, "SKILL.md"), []byte("---\nname: greet-drawbar\ndescription: Greets people. Use when somebody arrives.\n---\nGreet.\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if out := l.listed(); strings.Contains(out, "greet-drawbar") {
			t.Fatalf("listed before it was added\n%s", out)
		}
		if k.drives != "" {
			unsupported(t, "skills are given to the agent that a bridge drives")
			if o := l.command("skills", "add", src, "--agent", k.name); o.code == 0 {
				t.Error("a skill was added")
			}
			return
		}
		if o := l.command("skills", "add", src, "--agent", k.name); o.code != 0 {
			t.Fatalf("add: %s", o.stderr)
		}
		if out := l.listed(); !strings.Contains(out, "greet-drawbar") {
			t.Errorf("not listed\n%s", out)
		}
		if o := l.command("skills", "remove", "greet-drawbar", "--agent", k.name); o.code != 0 {
			t.Fatalf("remove: %s", o.stderr)
		}
		if out := l.listed(); strings.Contains(out, "greet-drawbar") {
			t.Errorf("listed after it was removed\n%s", out)
		}
	})
}

// A sub-agent that "drawbar subagents add" copies is offered to the agent's model.
func TestSubagentIsOffered(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"hello"}]}`)
		src := filepath.Join(l.root, "greeter.md")
		if err := os.WriteFile(src, []byte("---\nname: greeter-drawbar\ndescription: Greets people at the door.\n---\nYou greet.\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if o := l.command("subagents", "add", src, "--agent", k.name); strings.Contains(o.stderr, "has no subagents") {
			unsupported(t, "refused: it has no files of sub-agents")
			return
		} else if o.code != 0 {
			t.Fatalf("add: %s", o.stderr)
		}
		if k.name == "cline" {
			defect(t, "cline 3.0.65 does not tell its model of sub-agents over ACP")
		}
		log := &strings.Builder{}
		url, _ := loggedModel(t, `{"turns":[{"text":"hello"}],"onExhausted":"last"}`, log)
		l.redirect(url)
		args := bare[k.name]
		if k.name == "codex" { // models of its catalogue are told of sub-agents later, on demand
			args = append(slices.Clone(args[:2]), append([]string{"--model=scripted-model"}, args[2:]...)...)
		}
		var out string
		if len(args) > 0 {
			out = l.agent(args...)
		} else {
			out = l.run("hi").stdout
		}
		told := strings.Contains(log.String(), "greeter-drawbar") || strings.Contains(out, "greeter-drawbar")
		if told == (k.name == "cline") {
			t.Errorf("the model was told of it: %v\n%s", told, out)
		}
	})
}

// A skill of one run is offered to the agent's model in that run and in no other.
func TestSkillOfARun(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"hello"}],"onExhausted":"last"}`)
		src := filepath.Join(l.root, "gatekeeper")
		if err := os.Mkdir(src, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(src, "SKILL.md"), []byte("---\nname: gatekeeper\ndescription: Greets people at the gate of drawbar.\n---\nGreet.\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if !k.can(t).Agent.Skills {
			l.refused("--skill", src, "hi")
			return
		}
		log := &strings.Builder{}
		url, _ := loggedModel(t, `{"turns":[{"text":"hello"}],"onExhausted":"last"}`, log)
		l.redirect(url)
		l.run("--skill", src, "hi").completed(t)
		if !strings.Contains(log.String(), "at the gate of drawbar") {
			t.Errorf("the model was not told of it")
		}
		told := len(log.String())
		l.run("hi").completed(t)
		if strings.Contains(log.String()[told:], "at the gate of drawbar") {
			t.Errorf("the model was told of it in another run")
		}
		if o := l.command("run", k.name, "--json", "--skill", filepath.Join(l.root, "none"), "hi"); o.code != execution.ExitUsage || !strings.Contains(o.stdout, string(execution.CodeValidation)) {
			t.Errorf("a folder that is not there: exit code %d, %s", o.code, o.stdout)
		}
	})
}
