package toolrule

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

func shellUse(line string) Use {
	return Use{Name: "Bash", ToolUse: execution.ToolUse{Kind: execution.ToolShell, Command: line}}
}

func rules(t testing.TB, texts ...string) Rules {
	t.Helper()
	list, err := ParseAll(texts)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"Read", "read", "Write", "Edit(src/**)", "Edit(~/notes/*.md)", "Bash", "bash(*)", "Bash(go test:*)", "Shell(go test ./...)", "Bash('a b' c)",
		"MCP(github)", "MCP(github/*)", "WebSearch", " Read ", "mcp__github__search"} {
		if r, err := Parse(text); err != nil || r.String() != strings.TrimSpace(text) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, want := range map[string]string{"": "has no tool", "(x)": "has no tool", "Read(": "does not end", "Read()": "empty pattern", "Read(a[)": "not a pattern of paths",
		"Bash(a; b)": "one plain command", "Bash(a > b)": "one plain command", "Bash(A=1 b)": "one plain command", "Bash($X)": "only :*", "Bash(go * x)": "only :*", "Bash(if)": "one plain",
		"Bash( )": "empty pattern", "Task(x)": "takes no pattern", "Agent(x)": "takes no pattern", "MCP(a/b/c)": "not SERVER", "MCP([)": "not SERVER", "two words": "not the name",
		"*": "not the name", "Read\n": "", "a\nb": "has no tool"} {
		_, err := Parse(text)
		if want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestShell: an allowed line has nothing in it but allowed commands; a denied command is found wherever a line hides it.
func TestShell(t *testing.T) {
	t.Parallel()
	test := rules(t, "Bash(go test:*)", "Bash(git status)", "Bash(ls:*)")
	rm := rules(t, "Bash(rm:*)", "Bash(git push:*)")
	for line, want := range map[string]struct{ allowed, denied bool }{
		"go test":                       {true, false},
		"go test ./...":                 {true, false},
		"'go' \"test\" -run 'X'":        {true, false},
		`g\o test`:                      {true, false},
		"go test ./... 2>&1":            {true, false},
		"go test ./... >/dev/null 2>&1": {true, false},
		"go test && git status":         {true, false},
		"go test | ls; (ls)":            {true, false},
		"if go test; then ls; fi":       {true, false},
		"ls $(go test)":                 {true, false},
		"ls $DIR *.go":                  {true, false},
		"bash -lc 'go test ./...'":      {true, false},
		"bash -c \"bash -c 'go test'\"": {true, false},
		"go tests":                      {false, false},
		"go":                            {false, false},
		"go $X":                         {false, false},
		"git status -s":                 {false, false},
		"go test > out":                 {false, false},
		"go test >> out":                {false, false},
		"ls >$X":                        {false, false},
		"{ ls; } > out":                 {false, false},
		"X=1 go test":                   {false, false},
		"X=1":                           {false, false},
		"export X=1; ls":                {false, false},
		"ls() { true; }; ls":            {false, false},
		"":                              {false, true}, // the agent does not say which
		"# nothing":                     {false, false},
		"bash -x -c 'go test'":          {false, false},
		"go test; rm -rf x":             {false, true},
		"go test && rm x":               {false, true},
		"go test & rm x":                {false, true},
		"go test\nrm x":                 {false, true},
		"ls $(rm x)":                    {false, true},
		"ls `rm x`":                     {false, true},
		"ls <(rm x)":                    {false, true},
		"ls \"$(rm x)\"":                {false, true},
		"rm":                            {false, true},
		"/bin/rm x":                     {false, true},
		`r\m x`:                         {false, true},
		"'r'm x":                        {false, true},
		"sudo rm x":                     {false, true},
		"sudo -u root rm x":             {false, true},
		"env A=1 rm x":                  {false, true},
		"timeout 5 rm x":                {false, true},
		"find . -exec rm {} +":          {false, true},
		"ls | xargs rm":                 {false, true},
		"sh -c 'rm x'":                  {false, true},
		"bash -lc \"rm x\"":             {false, true},
		"bash -xec 'ls; rm x'":          {false, true},
		"sudo sh -c 'rm x'":             {false, true},
		"eval rm x":                     {false, true},
		"eval 'r''m x'":                 {false, true},
		"eval $X":                       {false, true},
		"$X x":                          {false, true},
		"bash -c \"$X\"":                {false, true},
		"curl x | sh":                   {false, true},
		"f() { rm x; }; f":              {false, true},
		"while true; do rm x; done":     {false, true},
		"ls 'unclosed":                  {false, true},
		"git push":                      {false, true},
		"git push --force":              {false, true},
		"git $X":                        {false, true},
		"git pull":                      {false, false},
		"grep rm x":                     {false, false},
		"echo 'rm x'":                   {false, false},
		"bash script.sh":                {false, false},
		"rmdir x":                       {false, false},
		strings.Repeat("(", 9) + "rm x" + strings.Repeat(")", 9): {false, true},
	} {
		u := shellUse(line)
		if _, ok := test.Allow(u); ok != want.allowed {
			t.Errorf("%q allowed: %v", line, ok)
		}
		if _, ok := rm.Deny(u); ok != want.denied {
			t.Errorf("%q denied: %v", line, ok)
		}
	}
	if r, ok := rules(t, "Read", "Bash").Allow(shellUse("x > y")); !ok || r.String() != "Bash" {
		t.Errorf("every command: %v, %v", r, ok)
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir, other := filepath.Join(root, "repo"), filepath.Join(root, "other")
	for _, d := range []string{filepath.Join(dir, "src"), other} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(other, filepath.Join(dir, "src", "link")); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(dir, filepath.Join(root, "name")); err != nil {
		t.Fatal(err)
	}
	use := func(paths ...string) Use {
		return Use{Name: "Edit", ToolUse: execution.ToolUse{Kind: execution.ToolEdit, Paths: paths}, Dir: dir}
	}
	src, all := rules(t, "Edit(src/**)"), rules(t, "Edit")
	for _, tt := range []struct {
		name                    string
		u                       Use
		allowed, denied, inside bool
	}{
		{"a file", use("src/a.go"), true, true, true},
		{"an absolute path", use(filepath.Join(dir, "src", "a.go")), true, true, true},
		{"a new folder", use("src/x/y/a.go"), true, true, true},
		{"the other name of the directory", use(filepath.Join(root, "name", "src", "a.go")), true, true, true},
		{"another file", use("a.go"), false, false, true},
		{"out with dots", use("src/../a.go"), false, false, true},
		{"out of the directory", use("src/../../other/a.go"), false, false, false},
		{"through a link", use("src/link/a.go"), false, true, false},
		{"two, one elsewhere", use("src/a.go", "b.go"), false, true, true},
		{"none known", use(), false, true, false},
		{"a tool that reads", Use{Name: "Read", ToolUse: execution.ToolUse{Kind: execution.ToolRead, Paths: []string{"src/a.go"}}, Dir: dir}, false, false, true},
		{"a tool of no known kind", Use{Name: "Thing", ToolUse: execution.ToolUse{Paths: []string{"src/a.go"}}, Dir: dir}, false, false, true},
	} {
		if _, ok := src.Allow(tt.u); ok != tt.allowed {
			t.Errorf("%s: allowed %v", tt.name, ok)
		}
		if _, ok := src.Deny(tt.u); ok != tt.denied {
			t.Errorf("%s: denied %v", tt.name, ok)
		}
		if tt.u.Inside() != tt.inside {
			t.Errorf("%s: inside %v", tt.name, !tt.inside)
		}
		if _, ok := all.Allow(tt.u); ok != (tt.u.Kind == execution.ToolEdit) {
			t.Errorf("%s: every edit %v", tt.name, ok)
		}
	}
	if _, ok := rules(t, "Edit("+filepath.ToSlash(other)+"/*)").Allow(use("src/link/a.go")); !ok {
		t.Error("an absolute pattern is not applied to where the link leads")
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	mcp := Use{Name: "mcp__a__b", ToolUse: execution.ToolUse{Kind: execution.ToolMCP, Server: "a", Tool: "b"}}
	for _, tt := range []struct {
		rule string
		u    Use
		want bool
	}{
		{"WebSearch", Use{Name: "WebSearch", ToolUse: execution.ToolUse{Kind: execution.ToolFetch}}, true},
		{"Fetch", Use{Name: "WebSearch", ToolUse: execution.ToolUse{Kind: execution.ToolFetch}}, true},
		{"websearch", Use{Name: "WebSearch"}, false},
		{"Read", Use{Name: "Read"}, true},
		{"Read", Use{Name: "view", ToolUse: execution.ToolUse{Kind: execution.ToolRead}}, true},
		{"MCP", mcp, true},
		{"MCP(a)", mcp, true},
		{"MCP(a/b)", mcp, true},
		{"MCP(a/c*)", mcp, false},
		{"MCP(b)", mcp, false},
		{"mcp__a__b", mcp, true},
		{"Agent", Use{Name: "Task", ToolUse: execution.ToolUse{Kind: execution.ToolAgent}}, true},
	} {
		_, allowed := rules(t, tt.rule).Allow(tt.u)
		_, denied := rules(t, tt.rule).Deny(tt.u)
		if allowed != tt.want || denied != tt.want {
			t.Errorf("%s for %+v: allowed %v, denied %v", tt.rule, tt.u, allowed, denied)
		}
	}
}

// FuzzShell: no line is allowed that the same rule would not deny.
func FuzzShell(f *testing.F) {
	for _, line := range []string{"go test ./...", "bash -lc 'go test'", "ls $(go test)", "go test; rm x", "a <<E\nb\nE", "go\\\n test", "\"go\" 'test' $x"} {
		f.Add(line)
	}
	list := rules(f, "Bash(go test:*)")
	f.Fuzz(func(t *testing.T, line string) {
		u := shellUse(line)
		_, allowed := list.Allow(u)
		if _, denied := list.Deny(u); allowed && !denied {
			t.Errorf("%q is allowed, but not denied", line)
		}
	})
}
