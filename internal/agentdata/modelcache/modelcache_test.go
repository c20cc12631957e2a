package modelcache

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
)

func TestCache(t *testing.T) {
	dir := t.TempDir()
	memory := In("")
	if err := memory.Store("omp", List{Models: []execution.Model{{ID: "m"}}}); err != nil || len(memory.Lookup("omp").Models) != 1 {
		t.Errorf("in memory: %v, %+v", err, memory.Lookup("omp"))
	}
	c, other := In(dir), In(dir)
	if l := c.Lookup("omp"); !l.Time.IsZero() || l.Models != nil {
		t.Errorf("a list that nobody stored: %+v", l)
	}
	at := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	for i, id := range []string{"first", "the second"} {
		if err := c.Store("omp", List{Time: at, Models: []execution.Model{{ID: id, Abilities: execution.Abilities{ImageInput: new(i == 0)}}}}); err != nil {
			t.Fatal(err)
		}
		for _, reader := range []*Cache{c, other} {
			l := reader.Lookup("omp")
			if len(l.Models) != 1 || l.Models[0].ID != id || execution.Lacks(l.Models[0].ImageInput) != (i == 1) || l.Models[0].ToolCalling != nil || !l.Time.Equal(at) {
				t.Errorf("%+v", l)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, folder, "omp.json"), []byte(`{"models":[{`), 0o600); err != nil {
		t.Fatal(err)
	}
	if l := c.Lookup("omp"); l.Models != nil {
		t.Errorf("from a broken file: %+v", l)
	}
}
