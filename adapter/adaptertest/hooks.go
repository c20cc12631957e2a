package adaptertest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// FuzzHooks feeds arbitrary input to an adapter's hook reader: it is refused or read, and a call before a tool names
// the tool.
func FuzzHooks(f *testing.F, a adapter.NativeHooks) {
	files, _ := filepath.Glob(filepath.Join("testdata", "hooks", "*.json"))
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			f.Add(data)
		}
	}
	for _, odd := range []string{"", "null", "[]", `{"tool_name":7}`, `{"tool_name":"","tool_input":null}`, `{"toolName":"x","toolArgs":"text"}`} {
		f.Add([]byte(odd))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		for _, h := range a.Hooks() {
			call, err := a.ReadHook(h.Name, payload)
			if err == nil && h.Event == execution.HookPreToolUse && call.Data.ToolName == "" {
				t.Fatalf("%s: a call without a tool name is accepted", h.Name)
			}
			if err == nil && call.HookType != h.Name {
				t.Fatalf("%s is called %s", h.Name, call.HookType)
			}
			if err == nil {
				if _, err := json.Marshal(call); err != nil {
					t.Fatalf("%s: the call cannot be encoded: %v", h.Name, err)
				}
			}
		}
	})
}
