//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
		forAgent(t, k.name, func(t *testing.T) {
			can := k.can(t).Agent
			l := newLab(t, k, fmt.Sprintf(`{"turns":[{"match":{"contains":"make"},"tools":[%s]},{"match":{"contains":"sleep"},"tools":[%s]},{"text":"Hello from there.","chunks":4,"repeat":true}]}`,
				k.shell("echo made > made.txt"), k.shell("echo $$ > pid; exec sleep 300")))
			if !can.Elsewhere {
				l.refused("--on", "ssh:lab", "say hello")
				return
			}
			m := newOtherMachine(t, l)
			args := m.args("lab", "--approve", "yolo", "--system", "Speak like a lighthouse keeper.")
			note, skill := filepath.Join(l.work, "note.txt"), filepath.Join(l.work, "gatekeeper")
			if err := errors.Join(os.WriteFile(note, []byte("the heron stands still"), 0o600), os.Mkdir(skill, 0o700),
				os.WriteFile(filepath.Join(skill, "SKILL.md"), []byte("---\nname: gatekeeper\ndescription: Greets people at the gate of drawbar.\n---\nGreet.\n"), 0o600)); err != nil {
				t.Fatal(err)
			}
			if can.FileAttachments {
				args = append(args, "--attach", note)
			}
			if can.Skills {
				args = append(args, "--skill", "./gatekeeper")
			}
			o := l.run(append(args, "make a file")...)
			o.completed(t)
			for text, told := range map[string]bool{"lighthouse": true, "the heron stands still": can.FileAttachments, "at the gate of drawbar": can.Skills} {
				if told && !slices.ContainsFunc(l.sent(), func(r string) bool { return strings.Contains(r, text) }) {
					t.Errorf("%q did not reach the model", text)
				}
			}
			if left, err := filepath.Glob("/tmp/drawbar-" + string(o.result.RunID) + "-*-there"); err != nil || len(left) > 0 {
				t.Errorf("left there: %v %v", left, err)
			}
			if pieces := len(bodies[execution.TextDelta](o)); o.result.Text != "Hello from there." || pieces < 2 && k.name != "droid" {
				t.Errorf("text %q in %d pieces", o.result.Text, pieces)
			}
			if b, err := os.ReadFile(filepath.Join(m.dir, "made.txt")); err != nil || strings.TrimSpace(string(b)) != "made" {
				t.Errorf("the file there: %q %v", b, err)
			}
			asked, err := os.ReadFile(m.asked)
			if err != nil || !strings.Contains(string(asked), "lab") || strings.Contains(string(asked), "make a file") {
				t.Errorf("ssh was told %q, %v", asked, err)
			}
			for name, value := range l.env {
				if strings.HasSuffix(name, "KEY") && strings.Contains(string(asked), value) {
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

			l.killedElsewhere(k.name, m.dir, m.args("lab", "--approve", "yolo", "sleep now"))
		})
	}
}

// killedElsewhere kills a run whose agent writes the id of a command there into a file of dir: whatever ends the run here ends the agent there,
// and what it has started.
func (l *lab) killedElsewhere(agent, dir string, args []string) {
	l.t.Helper()
	ctx, cancel := context.WithCancel(l.t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append([]string{"run", agent, "--json", "--cwd", l.work}, args...)...)
	cmd.Env, cmd.Dir = l.environ(), l.work
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	pid := 0
	for deadline := time.Now().Add(patience); pid == 0 && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		b, _ := os.ReadFile(filepath.Join(dir, "pid"))
		_, _ = fmt.Sscan(string(b), &pid)
	}
	cancel() // kill -9
	_ = cmd.Wait()
	if pid == 0 {
		l.t.Fatal("the command there did not begin")
	}
	alive := true
	for deadline := time.Now().Add(patience); alive && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		alive = syscall.Kill(pid, 0) == nil
	}
	if alive {
		l.t.Error("the command there outlives the run")
	}
	for deadline := time.Now().Add(patience); len(l.processes()) > 0 && time.Now().Before(deadline); { // the agent there has its grace period
		time.Sleep(50 * time.Millisecond)
	}
}

// TestContainer: the same in a container of DRAWBAR_E2E_IMAGE, in which Claude Code is installed and which reaches this machine's loopback, by a program that
// understands docker's command line, DRAWBAR_E2E_DOCKER.
func TestContainer(t *testing.T) {
	t.Parallel()
	image, docker := os.Getenv("DRAWBAR_E2E_IMAGE"), os.Getenv("DRAWBAR_E2E_DOCKER")
	if image == "" || docker == "" {
		t.Skip("SKIPPED: no image with an agent here; DRAWBAR_E2E_IMAGE names one, DRAWBAR_E2E_DOCKER the program that runs it")
	}
	for _, k := range kits {
		if k.name == "claude" {
			t.Run(k.name, func(t *testing.T) { inContainer(t, k, image, docker) })
		}
	}
}

func inContainer(t *testing.T, k kit, image, docker string) {
	l := newLab(t, k, fmt.Sprintf(`{"turns":[{"match":{"contains":"sleep"},"tools":[%s]},{"match":{"contains":"make"},"tools":[%s]},{"text":"Hello from there.","chunks":4,"repeat":true}]}`,
		k.shell("touch started; exec sleep 300"), k.shell("pwd > made.txt")))
	bin := filepath.Join(l.root, "dockerbin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	asked := filepath.Join(l.root, "asked")
	if err := os.WriteFile(filepath.Join(bin, "docker"), fmt.Appendf(nil, "#!/bin/sh\nprintf '%%s\\n' \"$@\" >> %s\nexec %s \"$@\"\n", asked, docker), 0o700); err != nil {
		t.Fatal(err)
	}
	args := []string{"--approve", "yolo", "--env", "HOME=/root", "--env", "IS_SANDBOX=1"}
	for name := range l.env {
		if strings.HasPrefix(name, "ANTHROPIC_") {
			args = append(args, "--env", name)
		}
	}
	l.env["PATH"] = bin + ":" + l.env["PATH"]
	there := func(image string, more ...string) outcome {
		return l.run(slices.Concat([]string{"--on", "docker:" + image}, args, more)...)
	}

	o := there(image, "make a file")
	o.completed(t)
	if o.result.Text != "Hello from there." || len(bodies[execution.TextDelta](o)) < 2 {
		t.Errorf("text %q in %d pieces", o.result.Text, len(bodies[execution.TextDelta](o)))
	}
	if b, err := os.ReadFile(filepath.Join(l.work, "made.txt")); err != nil || string(b) != execution.Workspace+"\n" {
		t.Errorf("the file there: %q %v", b, err)
	}
	if b, err := os.ReadFile(asked); err != nil || strings.Contains(string(b), "make a file") || strings.Contains(string(b), l.env["ANTHROPIC_API_KEY"]) {
		t.Errorf("docker was told %q, %v", b, err)
	}
	for code, o := range map[execution.ErrorCode]outcome{
		execution.CodeAgentNotInstalled: there(image, "--env", "PATH=/bin", "say hello"),
		execution.CodeSpawn:             there("localhost/nothing:0", "say hello"),
	} {
		if o.result.Error == nil || o.result.Error.ErrorCode() != code {
			t.Errorf("%s expected: %s %+v", code, o.result.Status, o.result.Error)
		}
	}
	if o := there(image, "--timeout", "5s", "sleep now"); o.result.Error == nil || o.result.Error.ErrorCode() != execution.CodeTimeout {
		t.Errorf("%s %+v", o.result.Status, o.result.Error)
	}
	if _, err := os.Stat(filepath.Join(l.work, "started")); err != nil {
		t.Error("the command there did not begin")
	} // its processes are looked for at the end of every test
}
