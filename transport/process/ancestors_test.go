package process

import (
	"os"
	"runtime"
	"testing"
)

func TestProgram(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		argv []string
		want string
	}{
		{nil, ""},
		{[]string{"claude", "-p"}, "claude"},
		{[]string{"/usr/bin/node", "--max-old-space-size=4096", "/usr/lib/node_modules/@google/gemini-cli/bundle/gemini.js", "-p"}, "/usr/lib/node_modules/@google/gemini-cli/bundle/gemini.js"},
		{[]string{"node"}, "node"},
		{[]string{"python3.12", "/opt/x/hermes"}, "/opt/x/hermes"},
		{[]string{`C:\Program Files\nodejs\node.exe`, `C:\x\qwen.js`}, `C:\x\qwen.js`},
	} {
		if got := program(tt.argv); got != tt.want {
			t.Errorf("program(%q) = %q, want %q", tt.argv, got, tt.want)
		}
	}
}

func TestAncestors(t *testing.T) {
	t.Parallel()
	got := Ancestors()
	if runtime.GOOS != "linux" {
		if got != nil {
			t.Errorf("got %q, want nothing on %s", got, runtime.GOOS)
		}
		return
	}
	if os.Getppid() > 1 && len(got) == 0 {
		t.Error("the parent is not among the ancestors")
	}
}
