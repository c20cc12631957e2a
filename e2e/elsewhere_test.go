//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// otherMachine is a real sshd on loopback, and a client that knows it as the host "lab"; what the client is told in its arguments is in a file.
type otherMachine struct {
	l          *lab
	dir, asked string
}

func newOtherMachine(t *testing.T, l *lab) *otherMachine {
	t.Helper()
	sshd, err := exec.LookPath("/usr/sbin/sshd")
	if err != nil || os.Getuid() != 0 {
		t.Skip("SKIPPED: this machine has no sshd, or the tests are not run as root, as it needs")
	}
	client := mustLook(t, "ssh")
	m := &otherMachine{l: l, dir: filepath.Join(l.root, "there"), asked: filepath.Join(l.root, "asked")}
	keys, bin := filepath.Join(l.root, "keys"), filepath.Join(l.root, "sshbin")
	for _, d := range []string{m.dir, keys, bin, "/run/sshd"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(keys, key)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v %s", err, out)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	write := func(path, text string, mode os.FileMode) {
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(l.root, "sshd_config"), fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\nHostKey %s/host\nAuthorizedKeysFile %s/user.pub\nStrictModes no\nPidFile none\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n", port, keys, keys), 0o600)
	write(filepath.Join(l.root, "ssh_config"), fmt.Sprintf("Host lab\n HostName 127.0.0.1\n Port %d\nHost nobody\n HostName 127.0.0.1\n Port 1\nHost *\n User root\n IdentityFile %s/user\n IdentitiesOnly yes\n StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n LogLevel ERROR\n", port, keys), 0o600)
	write(filepath.Join(bin, "ssh"), fmt.Sprintf("#!/bin/sh\nprintf '%%s\\n' \"$@\" >> %s\nexec %s -F %s/ssh_config \"$@\"\n", m.asked, client, l.root), 0o755)
	cmd := exec.Command(sshd, "-D", "-e", "-f", filepath.Join(l.root, "sshd_config"))
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			_ = conn.Close()
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	l.env["PATH"] = bin + ":" + l.env["PATH"]
	return m
}

// args are the options of a run there, with the variables of the lab, which are not passed on by themselves.
func (m *otherMachine) args(host string, more ...string) []string {
	args := []string{"--on", "ssh:" + host + ":" + m.dir}
	for k := range m.l.env {
		args = append(args, "--env", k)
	}
	return append(args, more...)
}

// TestElsewhere: an agent runs on another machine over ssh: its stream, its exit, its files and its end are as here, and no secret is an argument.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	for _, k := range kits {
		if k.name != "claude" && k.name != "codex" && k.name != "gemini" {
			continue
		}
		forAgent(t, k.name, func(t *testing.T) {
			l := newLab(t, k, fmt.Sprintf(`{"turns":[{"match":{"contains":"make"},"tools":[%s]},{"match":{"contains":"sleep"},"tools":[%s]},{"text":"Hello from there.","chunks":4,"repeat":true}]}`,
				k.shell("echo made > made.txt"), k.shell("echo $$ > pid; exec sleep 300")))
			m := newOtherMachine(t, l)
			o := l.run(m.args("lab", "--approve", "yolo", "make a file")...)
			o.completed(t)
			if o.result.Text != "Hello from there." || len(bodies[execution.TextDelta](o)) < 2 {
				t.Errorf("text %q in %d pieces", o.result.Text, len(bodies[execution.TextDelta](o)))
			}
			if b, err := os.ReadFile(filepath.Join(m.dir, "made.txt")); err != nil || strings.TrimSpace(string(b)) != "made" {
				t.Errorf("the file there: %q %v", b, err)
			}
			asked, err := os.ReadFile(m.asked)
			if err != nil || !strings.Contains(string(asked), "lab") || strings.Contains(string(asked), "make a file") {
				t.Errorf("ssh was told %q, %v", asked, err)
			}
			for name, value := range l.env {
				if strings.Contains(name, "KEY") && strings.Contains(string(asked), value) {
					t.Errorf("%s is an argument of ssh", name)
				}
			}
			lost := l.run(m.args("nobody", "say hello")...)
			if lost.result.Status != execution.StatusFailed || lost.result.Error == nil || !strings.Contains(lost.result.Error.Message+lost.result.Error.Stderr, "ssh:nobody cannot be reached") {
				t.Errorf("a machine that is not there: %s %+v", lost.result.Status, lost.result.Error)
			}
			missing := l.run(append(m.args("lab"), "--env", "PATH=/usr/bin:/bin", "say hello")...)
			if missing.result.Status != execution.StatusFailed || missing.result.Error == nil || !strings.Contains(missing.result.Error.Message+missing.result.Error.Stderr, "is not installed on ssh:lab") {
				t.Errorf("a program that is not there: %s %+v", missing.result.Status, missing.result.Error)
			}

			// Whatever ends the run here ends the agent there, and what it has started.
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cmd := exec.CommandContext(ctx, binary, append([]string{"run", k.name, "--json", "--cwd", l.work}, m.args("lab", "--approve", "yolo", "sleep now")...)...)
			cmd.Env, cmd.Dir = l.environ(), l.work
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pid := 0
			for deadline := time.Now().Add(patience); pid == 0 && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
				b, _ := os.ReadFile(filepath.Join(m.dir, "pid"))
				_, _ = fmt.Sscan(string(b), &pid)
			}
			cancel() // kill -9
			_ = cmd.Wait()
			if pid == 0 {
				t.Fatal("the command there did not begin")
			}
			alive := true
			for deadline := time.Now().Add(patience); alive && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
				alive = syscall.Kill(pid, 0) == nil
			}
			if alive {
				t.Error("the command there outlives the run")
			}
			for deadline := time.Now().Add(patience); len(l.processes()) > 0 && time.Now().Before(deadline); { // the agent there has its grace period
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
}
