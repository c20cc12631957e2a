package toolrule

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

// TestSuggest: a suggested rule allows the call, what is like it, and nothing beside it.
func TestSuggest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.ToSlash(t.TempDir())
	if err := os.WriteFile(filepath.Join(dir, "a[b].go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	shell := func(line string) execution.ToolUse {
		return execution.ToolUse{Kind: execution.ToolShell, Command: line}
	}
	files := func(kind execution.ToolKind, paths ...string) execution.ToolUse {
		return execution.ToolUse{Kind: kind, Paths: paths}
	}
	for _, c := range []struct {
		use    execution.ToolUse
		want   string
		others []execution.ToolUse // allowed by the rule
		not    []execution.ToolUse
	}{
		{shell("go test ./..."), "Bash(go test:*)", []execution.ToolUse{shell("go test -run X")}, []execution.ToolUse{shell("go run ."), shell("go test; rm x")}},
		{shell("ls -l"), "Bash(ls:*)", nil, []execution.ToolUse{shell("ls > x")}},
		{shell("make ./x"), "Bash(make:*)", nil, nil},
		{shell("rm -rf build"), "Bash(rm -rf build)", nil, []execution.ToolUse{shell("rm -rf src")}},
		{shell("python3 -c 'print(1)'"), "Bash(python3 -c 'print(1)')", nil, []execution.ToolUse{shell("python3 -c 'print(2)'")}},
		{shell("go test; rm x"), "", nil, nil},
		{shell("A=b go test"), "", nil, nil},
		{shell("echo x > y"), "", nil, nil},
		{shell("rm $HOME/x"), "", nil, nil},
		{shell(""), "", nil, nil},
		{files(execution.ToolEdit, "a.go"), "Edit(**)", []execution.ToolUse{files(execution.ToolEdit, "sub/b.go")}, []execution.ToolUse{files(execution.ToolEdit, other+"/x"), files(execution.ToolRead, "a.go")}},
		{files(execution.ToolEdit, other+"/x"), "Edit(" + real(other) + "/x)", nil, []execution.ToolUse{files(execution.ToolEdit, other+"/y")}},
		{files(execution.ToolEdit, other+"/x", "a.go"), "", nil, nil},
		{files(execution.ToolRead, other+"/x"), "Read(" + real(other) + "/**)", []execution.ToolUse{files(execution.ToolRead, other+"/y")}, []execution.ToolUse{files(execution.ToolRead, "/etc/passwd")}},
		{files(execution.ToolEdit), "", nil, nil},
		{execution.ToolUse{Kind: execution.ToolMCP, Server: "db", Tool: "query"}, "MCP(db/query)", nil, []execution.ToolUse{{Kind: execution.ToolMCP, Server: "db", Tool: "drop"}}},
		{execution.ToolUse{Kind: execution.ToolFetch}, "Fetch", nil, nil},
		{execution.ToolUse{}, "Frobnicate", nil, nil},
	} {
		use := Use{c.use, "Frobnicate", dir}
		r, ok := Suggest(use)
		if r.String() != c.want || ok != (c.want != "") {
			t.Errorf("%+v: %q, want %q", c.use, r, c.want)
			continue
		}
		for _, o := range c.others {
			if _, ok := (Rules{r}).Allow(Use{o, "x", dir}); !ok {
				t.Errorf("%s does not allow %+v", r, o)
			}
		}
		for _, o := range c.not {
			if _, ok := (Rules{r}).Allow(Use{o, "x", dir}); ok {
				t.Errorf("%s allows %+v", r, o)
			}
		}
	}
}
