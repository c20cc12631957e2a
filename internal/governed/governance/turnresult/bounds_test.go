package turnresult

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

// TestNobodyReadsSoMuch hands in more than a record should hold of one turn.
func TestNobodyReadsSoMuch(t *testing.T) {
	t.Parallel()
	list := json.RawMessage("[" + strings.Repeat("{},", maxEntries) + "{}]")
	for _, field := range []string{"decisions", "objections"} {
		var f faults
		f.each(field, list, func(string, object) {})
		if len(f.list) != 1 || f.list[0].Type != "too_many" || f.list[0].Field != field {
			t.Errorf("%s: got %+v", field, f.list)
		}
	}
	if _, fault := LexicalPath("src/" + strings.Repeat("a", maxPath)); fault == nil || len(fault.Message) > 200 || fault.Stage != protocol.StageArtifact {
		t.Errorf("a path of %d bytes: %+v", maxPath+4, fault)
	}
	if _, fault := LexicalPath("src/" + strings.Repeat("a", 200)); fault != nil {
		t.Errorf("a path of 204 bytes: %+v", fault)
	}
}
