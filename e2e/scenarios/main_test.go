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
	for _, want := range []string{"| scenario | claude 1.2.3 | gemini  | qwen  |", "| plain | passes | defect [1] | - |", "| MCP server | FAILED | - | unsupported [2] |",
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
