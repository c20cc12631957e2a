//go:build e2e

package e2e

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/claude"
)

// npmRegistry serves releases of one package on the loopback interface, as npm's own registry does.
func npmRegistry(t *testing.T, pkg, command string, engines map[string]string, latest string) string {
	t.Helper()
	tarballs := map[string][]byte{}
	versions := map[string]any{}
	for version, node := range engines {
		manifest := map[string]any{"name": pkg, "version": version, "bin": map[string]string{command: "cli.sh"}, "engines": map[string]string{"node": node}}
		m, err := json.Marshal(manifest)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		for name, content := range map[string]string{"package/package.json": string(m), "package/cli.sh": "#!/bin/sh\necho " + version + "\n"} {
			if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write([]byte(content)); err != nil {
				t.Fatal(err)
			}
		}
		if w.Close() != nil || z.Close() != nil {
			t.Fatal("write a package")
		}
		tarballs["/"+version+".tgz"] = b.Bytes()
		sum := sha512.Sum512(b.Bytes())
		manifest["dist"] = map[string]string{"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]), "tarball": "/" + version + ".tgz"}
		versions[version] = manifest
	}
	var url string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b, ok := tarballs[r.URL.Path]; ok {
			_, _ = w.Write(b)
			return
		}
		if strings.TrimPrefix(r.URL.Path, "/") != pkg { // the client sends the escaped slash of a scope, which is unescaped here
			http.NotFound(w, r)
			return
		}
		for v, m := range versions {
			m.(map[string]any)["dist"].(map[string]string)["tarball"] = url + "/" + v + ".tgz"
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"name": pkg, "dist-tags": map[string]string{"latest": latest}, "versions": versions})
	}))
	t.Cleanup(s.Close)
	url = s.URL
	return url
}

// TestInstallWithNpm installs with the real npm: it takes an older release without a word where the newest wants another
// Node, and Drawbar sees it.
func TestInstallWithNpm(t *testing.T) {
	only(t, "claude", installWithNpm)
}

func installWithNpm(t *testing.T, k kit) {
	l := newLab(t, k, `{"turns":[]}`)
	prefix := filepath.Join(l.root, "prefix")
	tested := claude.Descriptor().TestedVersions
	newest := tested[len(tested)-1] // which Drawbar installs
	url := npmRegistry(t, "@anthropic-ai/claude-code", "claude", map[string]string{newest: ">=99", "2.1.197": ">=10"}, newest)
	l.env["npm_config_registry"], l.env["npm_config_prefix"], l.env["npm_config_update_notifier"] = url+"/", prefix, "false"
	// The installed programs of this suite must not be found.
	l.env["PATH"] = filepath.Join(prefix, "bin") + ":" + filepath.Dir(mustLook(t, "npm")) + ":/usr/bin:/bin"
	if err := os.MkdirAll(filepath.Join(prefix, "lib"), 0o700); err != nil {
		t.Fatal(err)
	}
	install := func(want int, args ...string) (res struct {
		OK                                 bool
		Command, InstalledVersion, Message string
	}) {
		t.Helper()
		o := l.command(append(args, "--json")...)
		var answer struct {
			Data  []json.RawMessage
			Error json.RawMessage
		}
		if err := json.Unmarshal([]byte(o.stdout), &answer); err != nil || o.code != want || want == 0 && len(answer.Data) != 1 {
			t.Fatalf("%v: exit code %d, want %d: %s %s", args, o.code, want, o.stdout, o.stderr)
		}
		if want == 0 {
			if err := json.Unmarshal(answer.Data[0], &res); err != nil {
				t.Fatal(err)
			}
		}
		return res
	}
	if got := install(0, "agents", "install", "claude", "--version", ">=2.0.0"); got.InstalledVersion != "2.1.197" || !strings.Contains(got.Message, "although "+newest+" is published") {
		t.Errorf("an older release was installed, and this was said: %+v", got)
	}
	if got := install(0, "update", "claude"); got.InstalledVersion != newest || !strings.Contains(got.Message, "needs another Node") {
		t.Errorf("the pinned release: %+v", got)
	}
	if got := install(0, "install", "claude"); got.Command != "" || !strings.Contains(got.Message, "already installed") {
		t.Errorf("again: %+v", got)
	}
	if got := install(0, "uninstall", "claude"); !got.OK {
		t.Errorf("uninstall: %+v", got)
	}
	if _, err := os.Stat(filepath.Join(prefix, "bin", "claude")); err == nil {
		t.Error("the program is still there")
	}
	install(1, "install", "claude", "--version", "9.9.9")
	l.env["npm_config_registry"] = "http://127.0.0.1:1/"
	l.env["npm_config_fetch_retries"] = "0"
	o := l.command("install", "claude")
	if o.code != 1 || !strings.Contains(o.stderr, "ECONNREFUSED") {
		t.Errorf("without a registry: exit code %d: %s", o.code, o.stderr)
	}
}

// TestNestedAgent: what an agent's tool sees are the markers of this agent, not those of the one around Drawbar.
func TestNestedAgent(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"done"}]}`, k.shell("env > seen.txt")))
		outer := map[string]string{"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "outer-session", "CODEX_THREAD_ID": "outer-thread", "GEMINI_CLI": "outer",
			"QWEN_CODE_SESSION_ID": "outer-qwen", "COPILOT_AGENT_SESSION_ID": "outer-copilot", "OPENCODE": "outer"}
		for name, value := range outer {
			l.env[name] = value
		}
		l.run("--approve", "yolo", "go").completed(t)
		seen, err := os.ReadFile(filepath.Join(l.work, "seen.txt"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(seen), "outer") {
			t.Errorf("the tool sees markers of the outer agent: %s", seen)
		}
	})
}

// TestHostInsideAgent: a command that an agent's tool runs knows which agent it is inside of, also inside of another one.
func TestHostInsideAgent(t *testing.T) {
	forEach(t, func(t *testing.T, k kit) {
		l := newLab(t, k, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"done"}]}`, k.shell(binary+" host --json > host.json")))
		for _, name := range []string{"CLAUDECODE", "CODEX_CI", "GEMINI_CLI"} { // what this shell would be inside of
			l.env[name] = "1"
		}
		l.run("--approve", "yolo", "go").completed(t)
		data, err := os.ReadFile(filepath.Join(l.work, "host.json"))
		if err != nil {
			t.Fatal(err)
		}
		if k.hidden != "" {
			defect(t, k.hidden)
			return
		}
		var answer struct {
			Data struct {
				Inside bool
				Host   struct{ Agent, Confidence string }
				Agents []struct{ Agent string }
			}
		}
		if err := json.Unmarshal(data, &answer); err != nil || !answer.Data.Inside || answer.Data.Host.Agent != cmp.Or(k.drives, k.name) || len(answer.Data.Agents) != 1 {
			t.Errorf("inside %s the host is %s, %v", k.name, data, err)
		}
	})
}
