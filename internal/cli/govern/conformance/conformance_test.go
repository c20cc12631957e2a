package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/exitcode"
	"github.com/drawbar/drawbar/internal/governed/conformance"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func run(ctx context.Context, env map[string]string, out io.Writer, args ...string) error {
	app := &cli.App{In: strings.NewReader(""), Out: out, Err: io.Discard, Getenv: func(k string) string { return env[k] }, Version: "1.2.3"}
	cmd := New(app)
	cmd.PersistentFlags().BoolVar(&app.JSON, "json", false, "")
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	return cmd.ExecuteContext(ctx)
}

// TestServedOverHTTP drives a fixture against "serve --http" with the command itself, with the token and without.
func TestServedOverHTTP(t *testing.T) {
	for _, way := range []string{"flag", "variable"} {
		t.Run(way, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			r, w := io.Pipe()
			served := make(chan error, 1)
			env := map[string]string{}
			args := []string{"serve", "--http", "127.0.0.1:0"}
			token := []string{}
			if way == "flag" {
				args, token = append(args, "--token", "secret"), []string{"--token", "secret"}
			} else {
				env[tokenVariable] = "secret"
			}
			go func() {
				err := run(ctx, env, w, args...)
				served <- errors.Join(err, w.CloseWithError(err))
			}()
			url, err := bufio.NewReader(r).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			drive := func(env map[string]string, more ...string) (string, error) {
				var out bytes.Buffer
				err := run(ctx, env, &out, append([]string{"--target", strings.TrimSpace(url), "--surface", "event_lifecycle", "--json"}, more...)...)
				return out.String(), err
			}
			out, err := drive(env, token...)
			var list []conformance.Outcome
			if err != nil || json.Unmarshal([]byte(out), &list) != nil || len(list) == 0 || list[0].Status != conformance.Pass {
				t.Errorf("got %v, %s", err, out)
			}
			if _, err := drive(nil); err == nil || exitcode.Of(err) != 2 || !strings.Contains(err.Error(), "token") {
				t.Errorf("without the token: %v", err)
			}
			cancel()
			if err := <-served; err != nil {
				t.Errorf("the server ends with %v", err)
			}
		})
	}
}

func TestServeSaysItsAddressAsJSON(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if err := run(ctx, nil, &out, "serve", "--http", "localhost:0", "--json"); err == nil && !strings.Contains(out.String(), `"url":"http://127.0.0.1:`) {
		t.Errorf("got %s", out.String())
	}
}

func TestServeStaysOnThisMachine(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, nil, io.Discard, "serve", "--http", "0.0.0.0:0"); err == nil || exitcode.Of(err) != 2 || !strings.Contains(err.Error(), "a loopback address") {
		t.Errorf("got %v", err)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, nil, io.Discard); exitcode.Of(err) != 130 {
		t.Errorf("got %v", err)
	}
}

func TestSplit(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want []string
		err  string
	}{
		{"node adapter.js", []string{"node", "adapter.js"}, ""},
		{"  a\t b \n", []string{"a", "b"}, ""},
		{`"a b" 'c "d"' e"f g"h`, []string{"a b", `c "d"`, "ef gh"}, ""},
		{`a '' ""`, []string{"a", "", ""}, ""},
		{`a "b`, nil, "unclosed quote"},
		{"", nil, "not name a program"},
		{"  ", nil, "not name a program"},
		{`'' x`, nil, "not name a program"},
	} {
		got, err := split(tc.in)
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%q: %v, %v", tc.in, got, err)
		}
	}
	if filepath.Separator != '/' {
		return
	}
	for in, want := range map[string][]string{`a\ b "c\"d" 'e\f'`: {"a b", `c"d`, `e\f`}, `\a`: {"a"}} {
		if got, err := split(in); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	if _, err := split(`a\`); err == nil {
		t.Error("a backslash at the end")
	}
}

func FuzzSplit(f *testing.F) {
	f.Add(`a "b c" \'`)
	f.Fuzz(func(t *testing.T, s string) {
		if words, err := split(s); err == nil && (len(words) == 0 || words[0] == "") {
			t.Errorf("%q: %q", s, words)
		}
	})
}

func TestReportNamesItsPlaces(t *testing.T) {
	dir := t.TempDir()
	fixture := `{"fixture_id":"A","tier":1,"surface":"event_lifecycle","description":"d","type":"t","setup":{},"expected":{"result":"error"},
		"input":{"operation":"validate_event","args":{"event":{}}}}`
	if err := os.WriteFile(filepath.Join(dir, "a.json"), []byte(fixture), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), nil, &out, "--suite", dir, "--report", "--tier", "1"); err != nil {
		t.Fatal(err)
	}
	var r conformance.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if r.FixtureRoot == nil || *r.FixtureRoot != dir || r.TierRequested != 1 || r.Overall != conformance.Pass || r.Results.Len() != 1 || r.Implementation != "drawbar" || r.Timestamp.IsZero() {
		t.Errorf("got %s", out.String())
	}
}

// TestTheProtocolsOwnSpelling drives a folder by the flags of "verify protocol".
func TestTheProtocolsOwnSpelling(t *testing.T) {
	verify := func(args ...string) (string, error) {
		var out bytes.Buffer
		app := &cli.App{In: strings.NewReader(""), Out: &out, Err: io.Discard, Getenv: func(string) string { return "" }}
		cmd := NewProtocol(app)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(args)
		err := cmd.ExecuteContext(t.Context())
		return out.String(), err
	}
	t.Chdir(t.TempDir())
	for _, tc := range []struct {
		want string
		args []string
	}{
		{"has no .agentxchain-conformance/capabilities.json", nil},
		{"is not a folder", []string{"--target", "nowhere"}},
		{"contradict each other", []string{"--target", ".", "--remote", "http://127.0.0.1:1"}},
		{"is not supported", []string{"--format", "xml"}},
		{"does not provide what it claims", []string{"--remote", "http://127.0.0.1:1", "--token", "x", "--timeout", "500"}},
		{"is out of range", []string{"--timeout", "0"}},
	} {
		if _, err := verify(tc.args...); exitcode.Of(err) != 2 || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: got %v, want %s", tc.args, err, tc.want)
		}
	}
	if err := os.MkdirAll(".agentxchain-conformance", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(conformance.CapabilitiesFile, []byte(`{"implementation":"none","tiers":[2],"adapter":{"protocol":"stdio-fixture-v1","command":["./nothing"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := verify("--format", "json")
	var r conformance.Report
	if err != nil || json.Unmarshal([]byte(out), &r) != nil || r.TierRequested != 1 || r.Results.At("tier_1").Status != "skipped" || r.TargetRoot == nil || !filepath.IsAbs(*r.TargetRoot) {
		t.Errorf("a tier that is not claimed: %v\n%s", err, out)
	}
	if out, err := verify("--tier", "2"); exitcode.Of(err) != 2 || !strings.Contains(out, "start the program") {
		t.Errorf("a program that is not there: %v\n%s", err, out)
	}
}
