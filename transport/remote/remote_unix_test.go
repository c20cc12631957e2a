//go:build unix

package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/execution"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/drawbar/drawbar/transport/remote.(*connection).feed"))
}

// TestArgv: how each kind is reached. There is neither a secret nor a file in it.
func TestArgv(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ssh:ann@build1:/srv":     `ssh -T -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15 -o ServerAliveCountMax=4 ann@build1 exec sh -c 'BOOT'`,
		"docker:agent:1":          `docker run --rm -i --init -v /home/ann/shop:/workspace -w /workspace --entrypoint sh agent:1 -c BOOT`,
		"kubernetes:ns/pod:/work": `kubectl exec -i -n ns pod -- sh -c BOOT`,
		"kubernetes:pod":          `kubectl exec -i pod -- sh -c BOOT`,
	} {
		target, err := execution.Invocation(text).Target()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(strings.Join(Argv(target, "/home/ann/shop"), " "), boot, "BOOT"); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	if strings.ContainsAny(boot, "'!\n") {
		t.Error("some login shells cannot quote the first command")
	}
}

// shells are those of targets, as far as this machine has them.
func shells(t *testing.T) (list [][]string) {
	t.Helper()
	for _, argv := range [][]string{{"sh", "-c", boot}, {"dash", "-c", boot}, {"bash", "-c", boot}, {"busybox", "sh", "-c", boot}} {
		if _, err := exec.LookPath(argv[0]); err == nil {
			list = append(list, argv)
		}
	}
	return list
}

type result struct {
	code      int
	out, errs string
}

func (p Plan) play(in io.Reader, signals chan os.Signal) result {
	var out, errs bytes.Buffer
	code := p.run(signals, in, &out, &errs)
	return result{code, out.String(), errs.String()}
}

func plan(t *testing.T, argv []string, command string, args ...string) Plan {
	return Plan{Argv: argv, Where: "there", Dir: t.TempDir(), Command: command, Args: args, Private: filepath.Join(t.TempDir(), "private dir"), Grace: time.Second}
}

// TestProgram: input, output, exit code, variables and files reach the program and come back, whatever is in them.
func TestProgram(t *testing.T) {
	t.Parallel()
	for _, argv := range shells(t) {
		t.Run(strings.Join(argv[:len(argv)-2], " "), func(t *testing.T) {
			t.Parallel()
			odd := "it's \"odd\" \\ $HOME `x` \t *"
			p := plan(t, argv, "sh", "-c", `cat; echo "[$1|$ODD|$(cat "$2/a/b.txt")|$(ls -A "$2/folder" | wc -l | tr -d ' ')|$(pwd)]"; echo problem >&2; exit 7`, "x", odd, "")
			p.Args[len(p.Args)-1] = p.Private
			p.Env = []string{"ODD=" + odd}
			p.Files = []File{{filepath.Join(p.Private, "a", "b.txt"), []byte("secret 'text'"), 0o400}, {filepath.Join(p.Private, "folder"), nil, fs.ModeDir}}
			got := p.play(strings.NewReader("first "+odd+"\n\n  last without an end"), nil)
			want := "first " + odd + "\n\n  last without an end[" + odd + "|" + odd + "|secret 'text'|0|" + p.Dir + "]\n"
			if got.code != 7 || got.out != want || got.errs != "problem\n" {
				t.Errorf("%+v\nwant %q", got, want)
			}
			if _, err := os.Stat(p.Private); err == nil {
				t.Error("the private directory is left there")
			}
			long := strings.Repeat("x", 300_000)
			if got := plan(t, argv, "wc", "-c").play(strings.NewReader(long+"\n"), nil); strings.TrimSpace(got.out) != "300001" {
				t.Errorf("%+v", got)
			}
			if got := plan(t, argv, "sh", "-c", "sleep 0.5; cat /dev/stdin").play(strings.NewReader("read late\n"), nil); got.out != "read late\n" {
				t.Errorf("%+v", got)
			}
			if got := plan(t, argv, "true").play(strings.NewReader("nobody reads this\n"), nil); got.code != 0 || got.errs != "" {
				t.Errorf("%+v", got)
			}
			if got := plan(t, argv, "no-such-program").play(strings.NewReader(""), nil); got.code != exitUnreached || got.errs != markFailed+"AGENT_NOT_INSTALLED no-such-program is not installed on there\n" {
				t.Errorf("%+v", got)
			}
			alone := plan(t, argv, "only", "an argument") // a PATH with nothing but the program is its own alone
			if err := os.WriteFile(filepath.Join(alone.Dir, "only"), []byte("#!/bin/sh\necho \"$PATH $1\"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			alone.Env = []string{"PATH=" + alone.Dir}
			if got := alone.play(strings.NewReader(""), nil); got.code != 0 || got.out != alone.Dir+" an argument\n" {
				t.Errorf("%+v", got)
			}
			nowhere := plan(t, argv, "true")
			nowhere.Dir += "/nothing"
			if got := nowhere.play(strings.NewReader(""), nil); got.code != exitUnreached || !strings.HasPrefix(got.errs, markFailed+"VALIDATION_ERROR there has no directory /") {
				t.Errorf("%+v", got)
			}
		})
	}
	for name, argv := range map[string][]string{"no program": {"no-such-ssh"}, "refused": {"sh", "-c", "echo Permission denied. >&2; exit 255"}} {
		if got := plan(t, argv, "true").play(strings.NewReader(""), nil); got.code != exitUnreached || !strings.Contains(got.errs, "there") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestEnvironment: the shell of a machine reads the profile of a login, as far as there is one; that of a container has the environment of its image.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	for _, argv := range shells(t) {
		home := t.TempDir()
		argv = append([]string{"env", "HOME=" + home}, argv...)
		p := plan(t, argv, "sh", "-c", `echo "$GREETING"`)
		p.Login = true
		if got := p.play(strings.NewReader(""), nil); got.code != 0 || got.out != "\n" {
			t.Errorf("%s without a profile: %+v", argv[2], got)
		}
		if err := os.WriteFile(filepath.Join(home, ".profile"), []byte("GREETING=hello\nexport GREETING\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := p.play(strings.NewReader(""), nil); got.out != "hello\n" {
			t.Errorf("%s of a login: %+v", argv[2], got)
		}
		if p.Login = false; p.play(strings.NewReader(""), nil).out != "\n" {
			t.Errorf("%s of a container reads the profile of a login", argv[2])
		}
		p.Private = filepath.Join(home, "missing", "private")
		if got := p.play(strings.NewReader(""), nil); got.code != exitUnreached || !strings.HasSuffix(got.errs, markFailed+"SPAWN_ERROR there cannot make the private files of the run\n") {
			t.Errorf("%s: %+v", argv[2], got)
		}
	}
}

// TestFailure: why a program did not run is told from what it, and what reaches it, have printed.
func TestFailure(t *testing.T) {
	t.Parallel()
	for stderr, want := range map[string]string{
		"ssh: no route\n" + markFailed + "SPAWN_ERROR ssh:a cannot be reached\n": "SPAWN_ERROR ssh:a cannot be reached|ssh: no route\n",
		"cut" + markFailed + "AGENT_CRASH lost\n":                                "AGENT_CRASH lost|cut",
		markFailed + "AGENT_CRASH x\nmore\n":                                     "",
		"a program's error\n":                                                    "",
		"":                                                                       "",
	} {
		err, rest := Failure(stderr)
		got := "|" + rest
		if err != nil {
			got = string(err.Code) + " " + err.Message + got
		} else if want == "" {
			want = "|" + stderr
		}
		if got != want {
			t.Errorf("%q: %q, want %q", stderr, got, want)
		}
	}
}

// TestOutputs: files that the program writes are brought back.
func TestOutputs(t *testing.T) {
	t.Parallel()
	for _, argv := range shells(t) {
		p := plan(t, argv, "sh", "-c", `printf 'a\n\000b' > "$0/answer"; exit 3`)
		p.Args, p.Outputs = append(p.Args, p.Private), []string{"answer", "missing"}
		cmd := exec.Command(p.Argv[0], p.Argv[1:]...)
		var errs bytes.Buffer
		script := p.script()
		cmd.Stderr = &errs
		stdin, err := cmd.StdinPipe()
		if err != nil || cmd.Start() != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(stdin, "%d\n%s%s\n", len(script), script, frameEnd)
		if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 3 || errs.String() != markUp+"\n"+markOut+"answer YQoAYg==\n" {
			t.Errorf("%v %q", err, errs.String())
		}
	}
	p := Plan{Private: "/nowhere", Here: t.TempDir(), Where: "there"}
	var errs bytes.Buffer
	p.bring("answer YQoAYg==", &errs)
	p.bring("../evil YQ==", &errs)
	p.bring("broken ???", &errs)
	if b, err := os.ReadFile(filepath.Join(p.Here, "answer")); err != nil || string(b) != "a\n\x00b" || strings.Count(errs.String(), "bring ") != 2 {
		t.Errorf("%q %v %s", b, err, errs.String())
	}
}

// TestStopped: a stop, an interrupt and the end of the connection reach the program, also one that ignores them, and what it has started.
func TestStopped(t *testing.T) {
	t.Parallel()
	const stubborn = `trap '' TERM INT; sleep 300 & echo $$ $!; wait; sleep 300`
	for _, argv := range shells(t) {
		for name, tt := range map[string]struct {
			program string
			end     func(signals chan os.Signal, in *io.PipeWriter)
			code    int
		}{
			"stop":      {`trap 'exit 4' TERM; sleep 300 & echo $$ $!; wait`, func(s chan os.Signal, _ *io.PipeWriter) { s <- syscall.SIGTERM }, 4},
			"interrupt": {`trap 'exit 5' INT; sleep 300 & echo $$ $!; wait`, func(s chan os.Signal, _ *io.PipeWriter) { s <- os.Interrupt }, 5},
		} {
			t.Run(strings.Join(argv[:len(argv)-2], " ")+" "+name, func(t *testing.T) {
				t.Parallel()
				if _, err := exec.LookPath("setsid"); err != nil {
					t.Skip("SKIPPED: without setsid a session cannot be ended")
				}
				in, w := io.Pipe()
				defer w.Close()
				signals := make(chan os.Signal, 1)
				out := &pids{}
				var errs bytes.Buffer
				done := make(chan int, 1)
				go func() { done <- plan(t, argv, "bash", "-c", tt.program).run(signals, in, out, &errs) }()
				list := out.wait(t)
				tt.end(signals, w)
				select {
				case code := <-done:
					if code != tt.code {
						t.Errorf("exit code %d, %s", code, errs.String())
					}
				case <-time.After(20 * time.Second):
					t.Fatal("it does not end")
				}
				gone(t, list)
			})
		}
		t.Run(strings.Join(argv[:len(argv)-2], " ")+" connection", func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath("setsid"); err != nil {
				t.Skip("SKIPPED: without setsid a session cannot be ended")
			}
			p := plan(t, argv, "bash", "-c", stubborn)
			cmd := exec.Command(p.Argv[0], p.Argv[1:]...)
			script := p.script()
			stdin, err := cmd.StdinPipe()
			out := &pids{}
			cmd.Stdout = out
			said, errs, pipeErr := os.Pipe()
			cmd.Stderr = errs
			if err := errors.Join(err, pipeErr, cmd.Start(), errs.Close()); err != nil {
				t.Fatal(err)
			}
			_, _ = fmt.Fprintf(stdin, "%d\n%s", len(script), script)
			list := out.wait(t)
			_, _ = stdin.Close(), said.Close()
			_ = cmd.Wait()
			gone(t, list)
			if _, err := os.Stat(p.Private); err == nil {
				t.Error("the private directory is left there")
			}
		})
	}
}

// pids collects a line of process ids.
type pids struct {
	mu   sync.Mutex
	text string
}

func (p *pids) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text += string(b)
	return len(b), nil
}

func (p *pids) wait(t *testing.T) (list []int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		p.mu.Lock()
		text := p.text
		p.mu.Unlock()
		if strings.HasSuffix(text, "\n") {
			for _, w := range strings.Fields(text) {
				n, _ := strconv.Atoi(w)
				list = append(list, n)
			}
			return list
		}
	}
	t.Fatal("the program does not start")
	return nil
}

func gone(t *testing.T, list []int) {
	t.Helper()
	for _, pid := range list {
		alive := true
		for deadline := time.Now().Add(20 * time.Second); alive && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			alive = syscall.Kill(pid, 0) == nil
		}
		if alive {
			t.Errorf("process %d is left", pid)
		}
	}
}
