package protocol

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestOrderedKeepsOrderAndRefusesTwins(t *testing.T) {
	t.Parallel()
	const in = `{"qa":1,"planning":2,"implementation":3}`
	var o Ordered[int]
	if err := json.Unmarshal([]byte(in), &o); err != nil {
		t.Fatal(err)
	}
	out, err := Marshal(o)
	if err != nil || string(out) != in {
		t.Errorf("got %s, %v, want %s", out, err, in)
	}
	c := o.Clone()
	c.Delete("planning")
	c.Set("last", 4)
	if o.Len() != 3 || c.keys[1] != "implementation" || c.At("last") != 4 {
		t.Errorf("a clone shares: %v %v", o.Keys(), c.Keys())
	}
	if err := json.Unmarshal([]byte(`{"a":1,"a":2}`), &o); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a key that appears twice: %v", err)
	}
}

func TestUnknownKeysAreWrittenBack(t *testing.T) {
	t.Parallel()
	const config = `{"schema_version":4,"project":{"id":"a","name":"A","x":1},"roles":{"dev":{"title":"D","y":[1]}},` +
		`"runtimes":{"r":{"type":"mcp","command":"a b","tool_name":"t"}},"later":{"k":"<v>"}}`
	var c Config
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		t.Fatal(err)
	}
	out, err := Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"schema_version":"1.0"`, `"x":1`, `"y":[1]`, `"tool_name":"t"`, `"command":"a b"`, `"later":{"k":"<v>"}`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s is not in %s", want, out)
		}
	}
}

func TestStateOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	var s State
	in := `{"run_id":"run_1","status":"active","phase":"qa","current_turn":{"turn_id":"turn_1","assigned_role":"qa"},"odd":true}`
	if err := json.Unmarshal([]byte(in), &s); err != nil {
		t.Fatal(err)
	}
	c := s.Clone()
	if c.ActiveTurns.At("turn_1").AssignedRole != "qa" || c.ID() != "run_1" {
		t.Errorf("the old turn is lost: %+v", c)
	}
	out, _ := Marshal(c)
	if strings.Contains(string(out), "current_turn") || !strings.Contains(string(out), `"odd":true`) {
		t.Errorf("wrote %s", out)
	}
}

func TestReserved(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		StateFile: true, ".AgentXchain/STATE.json": true, ChainFile: true, "src/main.go": false, ReviewsDir + "/x.md": false, TalkFile: false,
	} {
		if Reserved(path) != want {
			t.Errorf("Reserved(%q) = %v", path, !want)
		}
	}
}

func TestBlockedReasonIsAnObject(t *testing.T) {
	t.Parallel()
	var s State
	if err := json.Unmarshal([]byte(`{"status":"blocked","blocked_reason":"because"}`), &s); err == nil || !strings.Contains(err.Error(), "blocked_reason must be an object") {
		t.Errorf("got %v", err)
	}
	if err := json.Unmarshal([]byte(`{"status":"blocked","blocked_reason":{"category":"x"}}`), &s); err != nil || s.BlockedReason.Category != "x" {
		t.Errorf("got %+v, %v", s.BlockedReason, err)
	}
}
