package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// signer is a user whose git signs with an ssh key; the settings are their own, not the repository's.
func signer(t *testing.T, r *repo) (global, key string) {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("no ssh-keygen on this machine, so nothing signs")
	}
	dir := t.TempDir()
	key = filepath.Join(dir, "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "allowed"), "ann@example.com "+string(public))
	global = filepath.Join(dir, "config")
	writeFile(t, global, "[commit]\n\tgpgsign = true\n[gpg]\n\tformat = ssh\n[gpg \"ssh\"]\n\tallowedSignersFile = "+filepath.Join(dir, "allowed")+"\n[user]\n\tsigningkey = "+key+"\n")
	r.open(r.dir, "GIT_CONFIG_GLOBAL="+global)
	return global, key
}

// A checkpoint is signed as the user's git signs, before and after a rebase, by no program of the repository.
func TestCheckpointSigned(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a.txt": "a\n"})
	global, key := signer(t, r)
	evil := filepath.Join(r.dir, ".git", "evil")
	r.run("config", "gpg.ssh.program", "touch "+evil+"; false")
	r.run("config", "gpg.program", "touch "+evil+"; false")
	r.open(r.dir, "GIT_CONFIG_GLOBAL="+global)
	if signs, err := r.Signs(t.Context()); err != nil || !signs {
		t.Fatalf("%v %v", signs, err)
	}
	r.run("config", "commit.gpgsign", "false") // an agent may write that
	r.open(r.dir, "GIT_CONFIG_GLOBAL="+global)
	if signs, err := r.Signs(t.Context()); err != nil || !signs {
		t.Errorf("the repository decides that the user does not sign: %v %v", signs, err)
	}
	good := func(commit string) {
		t.Helper()
		out := r.runIn(r.dir, []string{"GIT_CONFIG_GLOBAL=" + global}, "-c", "gpg.ssh.program=ssh-keygen", "log", "-1", "--format=%G? %GS %an %s", commit)
		if out != "G ann@example.com Ann turn one" {
			t.Errorf("%q", out)
		}
	}
	base, err := r.Baseline(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.write("a.txt", "b\n")
	q := request(&base, "a.txt")
	q.Message, q.Sign = "turn one", true
	p, err := r.Prepare(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	good(p.Commit)
	r.runIn(r.dir, nil, "stash", "-q")
	r.write("other.txt", "x\n")
	r.run("add", "other.txt")
	r.run("commit", "-qm", "between")
	r.runIn(r.dir, nil, "stash", "pop", "-q")
	n, err := r.Rebase(t.Context(), roundTrip(t, p))
	if err != nil {
		t.Fatal(err)
	}
	good(n.Commit)
	if exists(evil) {
		t.Error("a program of the repository ran")
	}
	if err := r.Apply(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if r.run("status", "--short") != "" {
		t.Errorf("%s", r.run("status", "--short"))
	}

	// Without the key nothing is committed, and the error says what helps.
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	r.write("a.txt", "c\n")
	head := r.run("rev-parse", "HEAD")
	if _, err := r.Prepare(t.Context(), q); err == nil || !strings.Contains(err.Error(), "cannot be signed") || !strings.Contains(err.Error(), "checkpoint.sign false") {
		t.Errorf("%v", err)
	}
	if r.run("rev-parse", "HEAD") != head {
		t.Error("the branch moved")
	}
	q.Sign = false
	if p, err := r.Prepare(t.Context(), q); err != nil || strings.Contains(r.run("cat-file", "commit", p.Commit), "gpgsig") {
		t.Errorf("unsigned: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(r.dir, ".git", "drawbar-index-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// The repository itself may ask for signatures.
func TestSigns(t *testing.T) {
	t.Parallel()
	r := newRepo(t, map[string]string{"a.txt": "a\n"})
	for value, want := range map[string]bool{"true": true, "yes": true, "false": false} {
		r.run("config", "commit.gpgsign", value)
		r.open(r.dir)
		if got, err := r.Signs(t.Context()); got != want || err != nil {
			t.Errorf("%s: %v %v", value, got, err)
		}
	}
}
