//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/coder/websocket"

	"github.com/drawbar/drawbar/execution"
)

// pod is an API server of Kubernetes with one running pod, "agents/box", whose container is this machine: kubectl exec runs a command with an
// environment of its own. As in a cluster, a connection that is lost ends the input of the command, not the command.
// The protocol is v5.channel.k8s.io: https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/4006-transition-spdy-to-websockets
type pod struct {
	t     *testing.T
	env   []string
	ends  context.Context
	asked sync.Map // commands that were executed
	wg    sync.WaitGroup
}

// channels of a connection: the first byte of each message.
const (
	kubeStdin, kubeStdout, kubeStderr, kubeError, kubeClose = 0, 1, 2, 3, 255
)

func (p *pod) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := func(v any) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(v); err != nil {
			p.t.Log(err)
		}
	}
	type object = map[string]any
	const namespace = "/api/v1/namespaces/agents/pods/"
	switch r.URL.Path {
	case "/api":
		answer(object{"kind": "APIVersions", "versions": []string{"v1"}})
	case "/apis":
		answer(object{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{}})
	case "/api/v1":
		answer(object{"kind": "APIResourceList", "groupVersion": "v1", "resources": []any{object{"name": "pods", "namespaced": true, "kind": "Pod", "verbs": []string{"get"}},
			object{"name": "pods/exec", "namespaced": true, "kind": "PodExecOptions", "verbs": []string{"create", "get"}}}})
	case namespace + "box":
		answer(object{"kind": "Pod", "apiVersion": "v1", "metadata": object{"name": "box", "namespace": "agents"},
			"spec": object{"containers": []any{object{"name": "main", "image": "none"}}}, "status": object{"phase": "Running"}})
	case namespace + "box/exec":
		p.exec(w, r)
	default:
		w.WriteHeader(http.StatusNotFound)
		answer(object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": http.StatusNotFound,
			"message": fmt.Sprintf("pods %q not found", filepath.Base(r.URL.Path)), "details": object{"name": filepath.Base(r.URL.Path), "kind": "pods"}})
	}
}

func (p *pod) exec(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"v5.channel.k8s.io"}})
	if err != nil {
		p.t.Log(err)
		return
	}
	conn.SetReadLimit(-1)
	argv := r.URL.Query()["command"]
	p.asked.Store(strings.Join(argv, " "), true)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = p.env, "/", &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		p.t.Error(err)
		return
	}
	var one sync.Mutex // one message at a time
	send := func(channel byte, b []byte) error {
		one.Lock()
		defer one.Unlock()
		return conn.Write(p.ends, websocket.MessageBinary, append([]byte{channel}, b...))
	}
	cmd.Stdout, cmd.Stderr = channel{send, kubeStdout}, channel{send, kubeStderr}
	if err := cmd.Start(); err != nil {
		p.t.Error(err)
		return
	}
	p.wg.Go(func() {
		defer stdin.Close()
		for {
			_, b, err := conn.Read(p.ends)
			switch {
			case err != nil, len(b) > 1 && b[0] == kubeClose && b[1] == kubeStdin:
				_ = stdin.Close()
				if err != nil {
					return
				}
			case len(b) > 1 && b[0] == kubeStdin:
				_, _ = stdin.Write(b[1:])
			}
		}
	})
	status := `{"metadata":{},"status":"Success"}`
	var exit *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &exit) {
		status = fmt.Sprintf(`{"metadata":{},"status":"Failure","reason":"NonZeroExitCode","message":"command terminated with exit code %d","details":{"causes":[{"reason":"ExitCode","message":%q}]}}`,
			exit.ExitCode(), strconv.Itoa(exit.ExitCode()))
	}
	_ = send(kubeError, []byte(status)) // whoever asked may be gone
	_ = conn.Close(websocket.StatusNormalClosure, "")
}

// channel writes to a channel of a connection. The output of a command whose reader is gone is lost.
type channel struct {
	send func(byte, []byte) error
	id   byte
}

func (c channel) Write(b []byte) (int, error) {
	_ = c.send(c.id, b)
	return len(b), nil
}

var _ io.Writer = channel{}

// TestKubernetes: a real kubectl runs Claude Code in a pod: its stream, its exit and its end are as here, and no secret is an argument.
func TestKubernetes(t *testing.T) {
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("SKIPPED: this machine has no kubectl")
	}
	only(t, "claude", func(t *testing.T, k kit) {
		l := newLab(t, k, fmt.Sprintf(`{"turns":[{"match":{"contains":"sleep"},"tools":[%s],"repeat":true},{"match":{"contains":"make"},"tools":[%s]},{"text":"Hello from there.","chunks":4,"repeat":true}]}`,
			k.shell("echo $$ > pid; exec sleep 300"), k.shell("pwd > made.txt")))
		there := filepath.Join(l.root, "there")
		if err := os.Mkdir(there, 0o700); err != nil {
			t.Fatal(err)
		}
		ends, end := context.WithCancel(context.Background())
		p := &pod{t: t, ends: ends, env: []string{"HOME=" + l.home, "PATH=" + l.env["PATH"], "DRAWBAR_E2E_LAB=" + l.root}}
		server := httptest.NewServer(p)
		t.Cleanup(func() { end(); server.CloseClientConnections(); server.Close(); p.wg.Wait() })
		config := filepath.Join(l.root, "kubeconfig")
		text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u","user":{}}]}`, server.URL)
		bin := filepath.Join(l.root, "kubebin")
		if err := errors.Join(os.WriteFile(config, []byte(text), 0o600), os.Mkdir(bin, 0o700), os.Symlink(kubectl, filepath.Join(bin, "kubectl"))); err != nil {
			t.Fatal(err)
		}
		args := []string{"--approve", "yolo"}
		for name := range l.env {
			args = append(args, "--env", name)
		}
		l.env["PATH"], l.env["KUBECONFIG"] = bin+":"+l.env["PATH"], config
		on := func(name string) []string {
			return append([]string{"--on", "kubernetes:agents/" + name + ":" + there}, args...)
		}
		run := func(name string, more ...string) outcome { return l.run(append(on(name), more...)...) }

		o := run("box", "make a file")
		o.completed(t)
		if o.result.Text != "Hello from there." || len(bodies[execution.TextDelta](o)) < 2 {
			t.Errorf("text %q in %d pieces", o.result.Text, len(bodies[execution.TextDelta](o)))
		}
		if b, err := os.ReadFile(filepath.Join(there, "made.txt")); err != nil || string(b) != there+"\n" {
			t.Errorf("the file there: %q %v", b, err)
		}
		asked := 0
		p.asked.Range(func(command, _ any) bool {
			asked++
			if c := command.(string); strings.Contains(c, "make a file") || strings.Contains(c, l.env["ANTHROPIC_API_KEY"]) {
				t.Errorf("kubectl was told %q", c)
			}
			return true
		})
		if asked != 1 {
			t.Errorf("%d commands were executed", asked)
		}
		for code, o := range map[execution.ErrorCode]outcome{
			execution.CodeAgentNotInstalled: run("box", "--env", "PATH=/bin", "say hello"),
			execution.CodeSpawn:             run("nothing", "say hello"),
		} {
			if o.result.Error == nil || o.result.Error.ErrorCode() != code {
				t.Errorf("%s expected: %s %+v", code, o.result.Status, o.result.Error)
			}
		}
		if o := run("box", "--timeout", "5s", "sleep now"); o.result.Error == nil || o.result.Error.ErrorCode() != execution.CodeTimeout {
			t.Errorf("%s %+v", o.result.Status, o.result.Error)
		}
		if err := os.Remove(filepath.Join(there, "pid")); err != nil {
			t.Fatal(err)
		}
		l.killedElsewhere(k.name, there, append(on("box"), "sleep now"))
	})
}
