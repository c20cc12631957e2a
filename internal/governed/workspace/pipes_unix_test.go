//go:build unix

package workspace

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// TestPipesInPlaceOfSettings: a named pipe where git reads a file by itself does not hold up whoever asks git; the error names it.
func TestPipesInPlaceOfSettings(t *testing.T) {
	t.Parallel()
	for name, attack := range map[string]string{
		"an included file":         `git config include.path more; mkfifo .git/more`,
		"included by an included":  `git config include.path one; git config -f .git/one include.path ../two; mkfifo two`,
		"the settings":             `rm .git/config; mkfifo .git/config`,
		"the user's":               `rm -f "$HOME/.gitconfig"; mkfifo "$HOME/.gitconfig"`,
		"included by the user's":   `git config --global include.path '~/more'; mkfifo "$HOME/more"`,
		"attributes":               `mkfifo .gitattributes`,
		"ignored files":            `mkdir -p a/b; echo x > a/b/x; mkfifo a/b/.gitignore`,
		"attributes of the user":   `git config core.attributesFile "$HOME/pipe"; mkfifo "$HOME/pipe"`,
		"the repository's ignored": `rm -f .git/info/exclude; mkdir -p .git/info; mkfifo .git/info/exclude`,
		"the index":                `rm .git/index; mkfifo .git/index`,
		"HEAD":                     `rm .git/HEAD; mkfifo .git/HEAD`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			root, home := filepath.Join(dir, "project"), filepath.Join(dir, "home")
			for _, d := range []string{root, home} {
				if err := os.Mkdir(d, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1"}
			sh := func(script string) {
				c := exec.Command("sh", "-ec", script)
				c.Dir, c.Env = root, env
				if out, err := c.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			sh(`git config --global user.name Ann; git config --global user.email ann@example.com
				git init -q -b main; echo a > a.txt; git add -A; git commit -qm start`)
			w, err := open(t.Context(), root, env)
			if err != nil {
				t.Fatal(err)
			}
			base, err := w.Baseline(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			sh(attack)
			sh("echo b > a.txt")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err = open(ctx, root, env)
			if err == nil {
				_, err = w.Binding(ctx, "")
			}
			if err == nil {
				_, err = w.Observe(ctx, base, "")
			}
			e, ok := err.(*execution.Error)
			if ctx.Err() != nil || err == nil || !strings.Contains(err.Error(), "is a named pipe") {
				t.Errorf("got %v (%v)", err, ctx.Err())
			} else if ok && !strings.HasPrefix(e.Hint, "remove it: rm ") {
				t.Errorf("the hint is %q", e.Hint)
			}
		})
	}
}
