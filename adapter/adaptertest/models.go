package adaptertest

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// Models tests how an adapter lists models: missing programs, failures, and output without models are errors.
func Models(t *testing.T, a adapter.ModelLister, recorded Commands) {
	for name, said := range map[string]adapter.SpawnOutcome{"failing": {Code: 3, Stderr: "log in first"}, "silent": {}, "talking": {Stdout: "no models today\n"}} {
		h := recorded.Host(new([]string))
		h.Spawn = func(context.Context, adapter.SpawnRequest) (adapter.SpawnOutcome, error) { return said, nil }
		if list, err := a.ListModels(t.Context(), h); execution.CodeOf(err) != execution.CodeInvalidOutput || len(list) > 0 {
			t.Errorf("%s program: %v, %v", name, list, err)
		}
	}
	h := recorded.Host(new([]string))
	h.LookPath = adapter.Host{}.Complete().LookPath
	if _, err := a.ListModels(t.Context(), h); execution.CodeOf(err) != execution.CodeAgentNotInstalled {
		t.Errorf("missing program: %v", err)
	}
}

// FuzzModels feeds arbitrary output to the parser of an agent's list of models, starting with the recordings in
// testdata/models.
func FuzzModels(f *testing.F, a adapter.ModelLister) {
	for _, said := range RecordedCommands(f, filepath.Join("testdata", "models")) {
		f.Add(said.Stdout)
	}
	for _, s := range []string{"", "null", "[]", "{", `{"models":[{}]}`, `{"id":7}`, "provider model\na b\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h := Commands{}.Host(new([]string))
		h.Spawn = func(context.Context, adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
			return adapter.SpawnOutcome{Stdout: text}, nil
		}
		list, err := a.ListModels(t.Context(), h)
		if (err == nil) != (len(list) > 0) {
			t.Fatalf("%d models, error %v", len(list), err)
		}
		ids := map[string]bool{"": true}
		for _, m := range list {
			if ids[m.ID] || m.ContextWindow < 0 || m.MaxOutputTokens < 0 || m.Price != nil && (m.Price.Input <= 0 || m.Price.Output <= 0) {
				t.Fatalf("%+v", m)
			}
			ids[m.ID] = true
		}
	})
}
