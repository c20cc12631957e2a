package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/internal/modelserver"
)

// block is a fenced block of a page.
type block struct {
	kind, text string
	line       int
}

func blocks(t *testing.T, page string) []block {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	var list []block
	var now *block
	for i, line := range strings.Split(string(b), "\n") {
		switch {
		case now != nil && line == "```":
			list, now = append(list, *now), nil
		case now != nil:
			now.text += line + "\n"
		case strings.HasPrefix(line, "```"):
			now = &block{kind: strings.TrimPrefix(line, "```"), line: i + 1}
		}
	}
	if now != nil {
		t.Fatalf("%s:%d: the block has no end", page, now.line)
	}
	return list
}

const typescriptPage = "external-adapters-typescript.md"

// TestTutorials runs the pages as a reader does: every block that says sh goes to one shell, in order, and every line of a block
// that says text must be among what the commands before it printed. "..." in it stands for anything.
func TestTutorials(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the pages are for a shell")
	}
	for _, program := range []string{"git", "sh", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: the pages need %s", program)
		}
	}
	for page, least := range map[string]int{"quickstart.md": 5, "governed-run.md": 15, "several-repositories.md": 5, "roadmap.md": 3, "agents-of-your-own.md": 6, "external-adapters.md": 5, "recordings.md": 5, "model-script.md": 2, "recipes.md": 15, "waiting.md": 3, typescriptPage: 3} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			if err := exec.Command("node", "-e", "process.exit(process.features.typescript ? 0 : 1)").Run(); page == typescriptPage && err != nil {
				t.Skipf("SKIPPED: the page needs a node that runs TypeScript: %v", err)
			}
			dir := t.TempDir()
			env := stage(t, dir)
			// One shell after the other, with what the last one left in its folder and its variables.
			saved := filepath.Join(dir, "saved")
			var printed string
			ran := 0
			for _, b := range blocks(t, page) {
				switch b.kind {
				case "sh":
					ran++
					// The trap ends what a failing block left in the background: it holds the output open.
					cmd := exec.Command("sh", "-c", fmt.Sprintf("set -e\ntrap 'kill $! 2>/dev/null || :' EXIT\n[ -e %[1]s ] && . %[1]s\n%[2]s\nexport -p > %[1]s\necho \"cd '$PWD'\" >> %[1]s\n", saved, b.text))
					cmd.Dir, cmd.Env = filepath.Join(dir, "work"), env
					out, err := cmd.CombinedOutput()
					if err != nil {
						t.Fatalf("docs/%s:%d: %v\n%s\n%s", page, b.line, err, b.text, out)
					}
					printed = string(out)
				case "text":
					for line := range strings.Lines(b.text) {
						words := strings.Fields(line)
						for i, w := range words {
							words[i] = strings.ReplaceAll(regexp.QuoteMeta(w), `\.\.\.`, ".*")
						}
						want := strings.Join(words, `[ \t]+`) // how columns are set is not the pages' business
						if !regexp.MustCompile(`(?m)^\s*` + want + `\s*$`).MatchString(printed) {
							t.Errorf("docs/%s:%d: the commands before do not print %q:\n%s", page, b.line, strings.TrimSpace(line), printed)
							break
						}
					}
				case "console", "json", "go", "":
				default:
					t.Errorf("docs/%s:%d: a block of kind %q: use sh (run), text (what it prints), console or json (neither)", page, b.line, b.kind)
				}
			}
			if ran < least {
				t.Errorf("%d blocks were run, want at least %d", ran, least)
			}
		})
	}
}

// stage is the machine of a reader: drawbar, git, and an agent under the vendor's name whose model is a script.
func stage(t *testing.T, dir string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"home", "work", "bin"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	script, err := modelserver.Parse([]byte(`{"onExhausted":"text:It adds numbers.","turns":[{"text":"It adds numbers."}]}`))
	if err != nil {
		t.Fatal(err)
	}
	model, err := modelserver.New(script, modelserver.Options{}).Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	if err := os.Symlink(self, filepath.Join(dir, "bin", "claude")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "bin", "drawbar")); err != nil {
		t.Fatal(err)
	}
	gitconfig := "[user]\n\tname = Reader\n\temail = reader@localhost\n[init]\n\tdefaultBranch = main\n"
	if err := os.WriteFile(filepath.Join(dir, "home", ".gitconfig"), []byte(gitconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + filepath.Join(dir, "home"), "XDG_STATE_HOME=" + filepath.Join(dir, "state"), "NO_COLOR=1", "LANG=C.UTF-8", "GORACE=atexit_sleep_ms=0",
		"PATH=" + filepath.Join(dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"), "ANTHROPIC_BASE_URL=" + model.URL(), "OPENAI_BASE_URL=" + model.URL() + "/v1",
		"ANTHROPIC_API_KEY=dummy-key-not-real", "DRAWBAR_DEMO_AGENT=1", actsAsDrawbar + "=1"}
	if cache := goCache(); cache != "" {
		env = append(env, "GOCACHE="+cache)
	}
	return env
}
