package main

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	t.Parallel()
	const output = `=== RUN   TestHTTPThings
=== PAUSE TestHTTPThings
=== RUN   TestAboutNobody
=== RUN   TestPlain
=== RUN   TestPlain/claude
=== PAUSE TestPlain/claude
=== RUN   TestPlain/gemini
=== CONT  TestPlain/claude
=== CONT  TestPlain/gemini
    x_test.go:1: scenario defect: it says success
=== NAME  TestPlain/claude
    x_test.go:2: something else
=== RUN   TestMCPServer/qwen
    x_test.go:1: scenario unsupported: refused
=== RUN   TestResume/qwen
    x_test.go:1: scenario partly: no fork
=== RUN   TestResume/gemini/part
    x_test.go:1: scenario unsupported: refused
    x_test.go:1: scenario defect: it says success
    x_test.go:1: scenario partly: no fork
=== RUN   TestMCPServer/claude
--- PASS: TestPlain (0.00s)
    --- PASS: TestPlain/claude (0.42s)
    --- PASS: TestPlain/gemini (1.00s)
=== RUN   TestEndless/gemini
    x_test.go:1: scenario partly: no fork
--- FAIL: TestMCPServer (0.00s)
    --- PASS: TestMCPServer/qwen (0.42s)
    --- PASS: TestResume/qwen (0.42s)
    --- PASS: TestResume/gemini (0.42s)
        --- PASS: TestResume/gemini/part (0.42s)
    --- FAIL: TestMCPServer/claude (0.42s)
    --- SKIP: TestHTTPThings/claude (0.42s)
    --- PASS: TestHTTPThings/other (0.42s)
`
	got, err := read(strings.NewReader(output))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := got.write(&b, map[string]string{"claude": "1.2.3"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| scenario | claude 1.2.3 | gemini | qwen |", "| plain | passes | defect [1] | - |", "| MCP server | FAILED | - | unsupported [2] |",
		"| resume | - | defect [3] [1] [4] | passes in part [5] |", "5. qwen: no fork",
		"| HTTP things | skipped | - | - |", "| endless | - | DID NOT END [4] | - |", "1. gemini: it says success", "| *in all: defect* | 0 | 2 | 0 |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("want %q in\n%s", want, b.String())
		}
	}
	if first, second := strings.Index(b.String(), "| HTTP things"), strings.Index(b.String(), "| plain"); first > second || strings.Contains(b.String(), "nobody") {
		t.Errorf("the order is not that of the tests:\n%s", b.String())
	}
	if _, err := read(strings.NewReader("nothing")); err == nil {
		t.Error("no results are taken for a table")
	}
}

// TestInto: the results of some scenarios replace their cells of a written table, whose others stay with their notes.
func TestInto(t *testing.T) {
	t.Parallel()
	const output = `=== RUN   TestResume/claude
    x_test.go:1: scenario partly: no fork
--- PASS: TestResume/claude (0.42s)
=== RUN   TestNews/qwen
    x_test.go:1: scenario defect: it says success
--- PASS: TestNews/qwen (0.42s)
`
	versions := map[string]string{"claude": "1.2.3", "qwen": "1.0"}
	written := func() *strings.Builder {
		old := newTable()
		old.scenarios = []string{"resume", "plain"}
		*old.cell("resume", "claude") = cell{state: failed, ended: true}
		*old.cell("resume", "qwen") = cell{state: "passes in part", ended: true, notes: []string{"no list"}}
		*old.cell("plain", "qwen") = cell{state: "passes"}
		var b strings.Builder
		if err := old.write(&b, versions); err != nil {
			t.Fatal(err)
		}
		return &b
	}
	for _, tt := range []struct{ name, old, problem string }{
		{"a table", written().String(), ""},
		{"of another release", strings.Replace(written().String(), "1.2.3", "1.2.4", 1), "it is of claude 1.2.4, not 1.2.3: run all scenarios"},
		{"without notes", strings.Replace(written().String(), "1. qwen: no list", "", 1), "there is no note 1"},
		{"a short row", strings.Replace(written().String(), "| plain | - |", "| plain |", 1), "the row plain has 1 cells, want 2"},
	} {
		got, err := read(strings.NewReader(output))
		if err != nil {
			t.Fatal(err)
		}
		if err := got.over(strings.NewReader(tt.old), versions); err != nil || tt.problem != "" {
			if err == nil || err.Error() != tt.problem {
				t.Errorf("%s: %v, want %q", tt.name, err, tt.problem)
			}
			continue
		}
		var b strings.Builder
		if err := got.write(&b, versions); err != nil {
			t.Fatal(err)
		}
		const want = `| scenario | claude 1.2.3 | qwen 1.0 |
|---|---|---|
| resume | passes in part [1] | passes in part [2] |
| plain | - | DID NOT END |
| news | - | defect [3] |
`
		if !strings.Contains(b.String(), want) || !strings.HasSuffix(b.String(), "1. claude: no fork\n2. qwen: no list\n3. qwen: it says success\n") {
			t.Errorf("got\n%swant\n%s", b.String(), want)
		}
	}
}

func TestDrift(t *testing.T) {
	t.Parallel()
	const output = `=== RUN   TestPlain/claude
--- PASS: TestPlain/claude (0.42s)
=== RUN   TestResume/claude
    x_test.go:1: a log
    x_test.go:2: the session is gone
        in two lines
=== RUN   TestResume/gemini
    x_test.go:1: of another agent
--- FAIL: TestResume/claude (0.42s)
=== RUN   TestNews/claude
--- PASS: TestNews/claude (0.42s)
=== RUN   TestHang/claude
    x_test.go:1: I wait
=== RUN   TestThinking/claude
    x_test.go:1: scenario defect: it does not think
--- PASS: TestThinking/claude (0.42s)
`
	written := "# Scenarios\n\n| scenario | gemini 1.0.0 | claude 1.2.3 |\n|---|---|---|\n| plain | - | passes |\n| resume | passes | passes in part [1] |\n" +
		"| hang | passes | passes |\n| news | passes | - |\n| thinking | passes | defect [2] |\n" +
		"\nNotes:\n\n1. claude: no fork\n2. claude: it says success\n"
	for _, tt := range []struct {
		name, in, want string
		d              drift
		json           bool
	}{
		{name: "changes", in: output, d: drift{Agent: "claude", Tested: "1.2.3", Version: "2.0.0"}, want: `claude 2.0.0, tested 1.2.3: 3 of 5 scenarios changed
  resume: FAILED, was passes in part
    the session is gone
  news: passes, was not in the table
  hang: DID NOT END, was passes
    I wait
`},
		{name: "none", in: strings.SplitAfter(output, "(0.42s)\n")[0], d: drift{Agent: "claude", Tested: "1.2.3", Version: "2.0.0"}, want: "claude 2.0.0, tested 1.2.3: nothing changed in 1 scenarios\n"},
		{name: "the newest", d: drift{Agent: "claude", Tested: "1.2.3", Version: "1.2.3"}, want: "claude 1.2.3: the tested release is the newest\n"},
		{name: "not installed", d: drift{Agent: "claude", Tested: "1.2.3", Error: "npm says no"}, want: "claude 1.2.3: not compared: npm says no\n"},
		{name: "no output", d: drift{Agent: "claude", Tested: "1.2.3", Version: "2.0.0"},
			want: "claude 1.2.3: not compared: the input has no results: it is to be the output of e2e/run -test.v\n"},
		{name: "JSON", in: "=== RUN   TestNews/claude\n--- PASS: TestNews/claude (0.42s)\n", json: true, d: drift{Agent: "claude", Tested: "1.2.3", Version: "2.0.0"},
			want: `{"agent":"claude","tested":"1.2.3","version":"2.0.0","scenarios":1,"changes":[{"scenario":"news","was":"","now":"passes"}]}` + "\n"},
	} {
		var b strings.Builder
		if err := report(tt.d, strings.NewReader(tt.in), strings.NewReader(written), tt.json, &b); err != nil || b.String() != tt.want {
			t.Errorf("%s: %v\n%swant\n%s", tt.name, err, b.String(), tt.want)
		}
	}
}
