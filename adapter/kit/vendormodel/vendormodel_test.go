package vendormodel

import (
	"testing"

	"github.com/drawbar/drawbar/execution"
)

func TestDescribe(t *testing.T) {
	for id, want := range map[string]*bool{"claude-opus-5-5": yes, "claude-opus-5.5": yes, "anthropic/claude-opus-4-5-20251101": yes, "claude-opus-4.8-fast": yes,
		"qwen3-coder-plus": no, "qwen3.7-max": no, "claude-opus-99": nil, "": nil, "openai/gpt-6-sol": yes} {
		got := Describe(execution.Model{ID: id}).ImageInput
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%s reads images: %v, want %v", id, got, want)
		}
	}
	if m := Describe(execution.Model{ID: "claude-opus-5-5", Abilities: execution.Abilities{ImageInput: no}}); !execution.Lacks(m.ImageInput) || execution.Lacks(m.ToolCalling) {
		t.Errorf("a stated ability is overridden, or the others are not filled: %+v", m.Abilities)
	}
	if m := Describe(execution.Model{ID: "gpt-6.1-sol"}); m.FileInput != nil || m.StructuredOutput != nil {
		t.Errorf("an ability that nobody published is stated: %+v", m.Abilities)
	}
}

// TestPrices: a release has the price of its model, and a price for long prompts is one of a model with a price, and higher.
func TestPrices(t *testing.T) {
	if p := Price("gpt-6-sol-20260102"); p == nil || p.Long == nil || p.At(272_000).Input != p.Input || p.At(272_001).Input != p.Long.Input {
		t.Errorf("%+v", p)
	}
	if p := Price("claude-opus-4-5-20251101"); p == nil || p.Long != nil || *p.CacheWrite1h != 10 {
		t.Errorf("%+v", p)
	}
	for id, long := range longer {
		if p := Price(id); p == nil || long.price[0] <= p.Input || long.price[1] <= p.Output {
			t.Errorf("%s: %+v", id, p)
		}
	}
	for id := range prices() {
		if faults := Price(id).Faults(); faults != nil {
			t.Errorf("%s: %v", id, faults)
		}
	}
}

// TestTable: no model twice, and no ability of one family leaks into another.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range table() {
		if seen[m.ID] {
			t.Errorf("%s is twice in the table", m.ID)
		}
		seen[m.ID] = true
		if m.ToolCalling == nil || m.Thinking == nil && m.ImageInput == nil {
			t.Errorf("%s states nothing", m.ID)
		}
	}
	for id := range map[string]bool{"qwen3.7-plus": true, "qwen3.6-plus": true} {
		if m := Describe(execution.Model{ID: id}); execution.Lacks(m.ImageInput) || !execution.Lacks(m.FileInput) {
			t.Errorf("%s: %+v", id, m.Abilities)
		}
	}
}
