package turnresult

import (
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

// TestNobodyReadsSoMuch hands in more than a record should hold of one turn.
func TestNobodyReadsSoMuch(t *testing.T) {
	t.Parallel()
	list := "[" + strings.Repeat("{},", maxEntries) + "{}]"
	for _, field := range []string{"decisions", "objections"} {
		r := Validate(input(t, "dev", "implementation", field+"="+list))
		if len(r.Faults) != 1 || r.Faults[0].Type != "too_many" || r.Faults[0].Field != field {
			t.Errorf("%s: got %+v", field, r.Faults)
		}
	}
	if _, fault := LexicalPath("src/" + strings.Repeat("a", maxPath)); fault == nil || len(fault.Message) > 200 || fault.Stage != protocol.StageArtifact {
		t.Errorf("a path of %d bytes: %+v", maxPath+4, fault)
	}
	if _, fault := LexicalPath("src/" + strings.Repeat("a", 200)); fault != nil {
		t.Errorf("a path of 204 bytes: %+v", fault)
	}
}
