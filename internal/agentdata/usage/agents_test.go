package usage

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter/claude"
	"github.com/drawbar/drawbar/adapter/codex"
	"github.com/drawbar/drawbar/adapter/copilot"
	"github.com/drawbar/drawbar/adapter/gemini"
	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/adapter/qwen"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/sessions"
	"github.com/google/go-cmp/cmp"
)

// TestRealFiles adds up what the real agents wrote. In them a Claude session is resumed, forked and has a sub-agent, and
// states what it cost; a Codex thread is forked; a Qwen session has a side request.
func TestRealFiles(t *testing.T) {
	home := t.TempDir()
	for _, agent := range []string{"claude", "codex", "copilot", "gemini", "qwen"} {
		if err := os.CopyFS(home, os.DirFS(filepath.Join("../../../adapter", agent, "testdata/usage"))); err != nil {
			t.Fatal(err)
		}
	}
	h := oshost.New(nil)
	h.Home, h.Getenv = filepath.ToSlash(home), func(string) string { return "" }
	claudeModels, codexModels := claude.Descriptor().Models, codex.Descriptor().Models
	l, err := Collect(t.Context(), []Source{
		{"claude", claude.Adapter{}, claudeModels}, {"codex", codex.Adapter{}, codexModels},
		{"copilot", copilot.Adapter{}, nil}, {"gemini", gemini.Adapter{}, nil}, {"qwen", qwen.Adapter{}, nil},
	}, Options{Host: h})
	if err != nil {
		t.Fatal(err)
	}
	for by, want := range map[sessions.CostGroupBy][]string{
		sessions.GroupAgent: {"claude 10 1000 270 280 49 $0.0081405 stated 0", "qwen 5 514 120 80 0 $0.001455 estimated 3", "copilot 6 607 140 80 7 $0.00151575 estimated 4",
			"codex 6 600 150 120 21 $0 unpriced 6", "gemini 4 407 90 40 0 $0 unpriced 4"},
	} {
		r, err := l.Report(Query{By: by, Location: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, g := range r.Groups {
			got[g.Key] = fmt.Sprintf("%s %d %d %d %d %d $%.7g %s %d", g.Key, g.Calls, g.InputTokens, g.OutputTokens, g.CacheReadTokens, g.CacheWriteTokens, g.TotalUSD, g.Source, g.UnpricedCalls)
		}
		for _, w := range want {
			key := w[:len(w)-len(w[indexOf(w):])]
			if diff := cmp.Diff(w, got[key]); diff != "" {
				t.Error(diff)
			}
		}
		if len(r.Problems) > 0 {
			t.Errorf("%+v", r.Problems)
		}
	}
}

func indexOf(s string) int {
	for i := range s {
		if s[i] == ' ' {
			return i
		}
	}
	return len(s)
}

// The order in which files are read must not matter.
func TestMergeInAnyOrder(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		names := newTable()
		var calls []call
		for range 60 {
			rec := history.UsageRecord{Time: int64(1 + r.IntN(3)), Twin: uint64(r.IntN(4)), Model: "big", Session: fmt.Sprint("s", r.IntN(3)), SubAgent: r.IntN(2) == 0, Output: int64(1 + r.IntN(3)), InFamily: r.IntN(3) == 0}
			if r.IntN(5) > 0 {
				rec.Key = history.UsageKey{byte(1 + r.IntN(12))}
			}
			if rec.InFamily {
				rec.Fork = []string{"", "s0", "s1"}[r.IntN(3)]
			}
			calls = append(calls, names.record(&rec))
		}
		// What a session forked from is one thing.
		for i := range calls {
			for j := range calls[:i] {
				if calls[j].session == calls[i].session {
					calls[i].fork = calls[j].fork
					break
				}
			}
		}
		total := func() (tokens, n int64) {
			list := append([]call(nil), calls...)
			for _, c := range merge(list, names, nil) {
				tokens += c.tokens()
				n++
			}
			return tokens, n
		}
		tokens, n := total()
		for range 5 {
			r.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
			if gotTokens, gotN := total(); gotTokens != tokens || gotN != n {
				t.Fatalf("seed %d: %d tokens in %d calls, before %d in %d", seed, gotTokens, gotN, tokens, n)
			}
		}
	}
}
