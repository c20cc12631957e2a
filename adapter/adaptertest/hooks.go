package adaptertest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// HookGoldens reads an agent's inputs to the commands of its hooks, one file EVENT.json each in a folder, and
// compares what the adapter makes of them with EVENT.golden, which update rewrites.
func HookGoldens(t *testing.T, a adapter.NativeHooks, dir string, update bool) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no payloads: %v", err)
	}
	for _, file := range files {
		event := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(event, func(t *testing.T) {
			payload, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := adapter.FindHook(a.Hooks(), event); !ok {
				t.Errorf("the event is not listed")
			}
			call, err := a.ReadHook(event, payload)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(call.Raw, payload) {
				t.Error("the payload is not kept unchanged")
			}
			call.Raw = nil
			got, err := json.MarshalIndent(call, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(file, ".json") + ".golden"
			if update {
				if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(bytes.TrimSpace(want), got) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

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
