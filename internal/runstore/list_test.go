package runstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/google/go-cmp/cmp"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	s := open(t, stateDir(t), Options{})
	ids := []execution.RunID{"01HZZZZZZZAAAAAAAAAAAAAAAA", "01HZZZZZZZAAAAAAAAAAAAAAAB", "01J0000000AAAAAAAAAAAAAAAA"}
	for _, id := range ids {
		record(t, s, Meta{RunID: id}, resultOf(1))
	}
	for _, c := range []struct {
		in, want string
		err      error
		text     string
	}{
		{in: string(ids[1]), want: string(ids[1])},
		{in: "01J", want: string(ids[2])},
		{in: Latest, want: string(ids[2])},
		{in: "01j0000", want: string(ids[2])},
		{in: strings.ToLower(string(ids[0])), want: string(ids[0])},
		{in: "01HZ", err: ErrAmbiguous, text: "01HZZZZZZZAAAAAAAAAAAAAAAB, 01HZZZZZZZAAAAAAAAAAAAAAAA"},
		{in: "0", err: ErrAmbiguous, text: "3 runs"},
		{in: "01J1", err: ErrNotFound, text: "01J0000000AAAAAAAAAAAAAAAA"},
		{in: "01HZZZZZZZAAAAAAAAAAAAAAAC", err: ErrNotFound, text: "01HZZZZZZZAAAAAAAAAAAAAAAB"},
		{in: "", err: ErrBadID, text: "empty"},
		{in: "../../etc", err: ErrBadID, text: "'.'"},
		{in: "01HU", err: ErrBadID, text: "'U'"},
		{in: "01Hſ", err: ErrBadID, text: "'ſ'"},
		{in: "8", err: ErrBadID, text: "above 7"},
		{in: strings.Repeat("0", 27), err: ErrBadID, text: "27"},
		{in: "01 ", err: ErrBadID},
		{in: "01\x00", err: ErrBadID},
	} {
		r, err := s.Get(c.in)
		if string(r.ID) != c.want || !errors.Is(err, c.err) || err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q: got %q, %v, want %q, %v with %q", c.in, r.ID, err, c.want, c.err, c.text)
		}
		if c.err == nil {
			continue
		}
		if _, err := s.Wait(t.Context(), c.in); !errors.Is(err, c.err) {
			t.Errorf("wait for %q: %v", c.in, err)
		}
		if _, errs := events(t, s, c.in, 0, true); len(errs) != 1 || !errors.Is(errs[0], c.err) {
			t.Errorf("events of %q: %v", c.in, errs)
		}
	}
	var ambiguous *AmbiguousError
	if _, err := s.Get("01HZ"); !errors.As(err, &ambiguous) || !slices.Equal(ambiguous.Candidates, []execution.RunID{ids[1], ids[0]}) {
		t.Errorf("candidates: %+v", ambiguous)
	}
	var missing *NotFoundError
	if _, err := s.Get("01J1"); !errors.As(err, &missing) || missing.Nearest != ids[2] {
		t.Errorf("nearest: %+v", missing)
	}
}

func TestListAndCost(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("half", 5*3600+1800) // days begin at 18:30 UTC
	s := open(t, stateDir(t), Options{Location: zone})
	day := time.Date(2026, 1, 10, 18, 0, 0, 0, time.UTC)
	priced, unpriced, none := resultOf(0.5), resultOf(0), resultOf(0)
	c := execution.CostOf(execution.Usage{Input: 1000, Output: 10}, nil, "")
	unpriced.Cost, unpriced.SessionID, none.Cost, none.SessionID = &c, "s2", nil, ""
	none.Status, none.ExitReason, none.Error = execution.StatusFailed, execution.ExitCrash, execution.NewResultError(execution.CodeAgentCrash, "x")
	var ids []execution.RunID
	add := func(m Meta, r execution.Result) { ids = append(ids, record(t, s, m, r)) }
	add(Meta{Agent: "claude", Cwd: "/w/a", Tags: []string{"x", "y"}, StartedAt: day, ProjectID: "p"}, priced)
	add(Meta{Agent: "claude", Cwd: "/w/b", Tags: []string{"x"}, StartedAt: day.Add(45 * time.Minute)}, priced)
	add(Meta{Agent: "codex", Cwd: "/w/a", StartedAt: day.Add(time.Hour)}, unpriced)
	add(Meta{Agent: "codex", Cwd: "/w/a", StartedAt: day.Add(48 * time.Hour)}, none)
	live := begin(t, s, Meta{Agent: "claude", Cwd: "/w/a", StartedAt: day.Add(72 * time.Hour), Tags: []string{"y"}})
	defer func() { _ = live.Close() }()
	ids = append(ids, live.meta.RunID)
	for _, c := range []struct {
		name   string
		filter Filter
		want   []int
	}{
		{"all", Filter{}, []int{4, 3, 2, 1, 0}},
		{"limit", Filter{Limit: 2}, []int{4, 3}},
		{"agent", Filter{Agent: "claude"}, []int{4, 1, 0}},
		{"since", Filter{Since: day.Add(time.Hour)}, []int{4, 3, 2}},
		{"until", Filter{Until: day.Add(time.Hour)}, []int{1, 0}},
		{"state", Filter{State: execution.OutcomeFailed}, []int{3}},
		{"running", Filter{State: execution.OutcomeRunning}, []int{4}},
		{"live", Filter{Live: true}, []int{4}},
		{"tag", Filter{Tag: "y"}, []int{4, 0}},
		{"cwd", Filter{Cwd: "/w/a/"}, []int{4, 3, 2, 0}},
		{"session", Filter{Session: "s1"}, []int{1, 0}},
		{"unified session", Filter{Session: "codex:s2"}, []int{2}},
		{"session of another agent", Filter{Session: "claude:s2"}, nil},
		{"together", Filter{Agent: "claude", Tag: "x", Cwd: "/w/b", Session: "s1", State: execution.OutcomeCompleted, Until: day.Add(time.Hour), Limit: 5}, []int{1}},
		{"quotes", Filter{Agent: `x' OR '1'='1`}, nil},
	} {
		runs, err := s.List(c.filter)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, r := range runs {
			got = append(got, slices.Index(ids, r.ID))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	if _, err := s.List(Filter{Limit: -1}); err == nil {
		t.Error("a negative limit was taken")
	}

	one := Sum{Runs: 1, Sessions: 1, Priced: 1, TotalUSD: 0.5, InputTokens: 100, OutputTokens: 20, CacheReadTokens: 7}
	two := one.plus(one)
	two.Sessions = 1
	without, unknown := Sum{Runs: 1, NoCost: 1}, Sum{Runs: 1, NoCost: 1, Unknown: 1}
	dear := Sum{Runs: 1, Sessions: 1, Unpriced: 1, InputTokens: 1000, OutputTokens: 10}
	secondDay := one.plus(dear)
	total := two.plus(dear).plus(unknown).plus(without)
	for _, c := range []struct {
		by   GroupBy
		want []Group
	}{
		{GroupNone, nil},
		{GroupDay, []Group{{"2026-01-10", one}, {"2026-01-11", secondDay}, {"2026-01-12", unknown}, {"2026-01-13", without}}},
		{GroupAgent, []Group{{"claude", two.plus(without)}, {"codex", dear.plus(unknown)}}},
		{GroupModel, []Group{{"m1", two.plus(dear).plus(unknown)}, {"", without}}},
		{GroupProject, []Group{{"", one.plus(dear).plus(unknown).plus(without)}, {"p", one}}},
		{GroupTag, []Group{{"x", two}, {"y", one.plus(without)}, {"", dear.plus(unknown)}}},
		{GroupSession, []Group{{"claude:s1", two}, {"", unknown.plus(without)}, {"codex:s2", dear}}},
	} {
		got, err := s.Cost(Filter{Limit: 1}, c.by) // a limit is for lists
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(Report{Currency: "USD", GroupBy: c.by, Total: total, Groups: c.want}, got); d != "" {
			t.Errorf("by %q (-want +got):\n%s", c.by, d)
		}
	}
	if got, err := s.Cost(Filter{Tag: "x"}, GroupTag); err != nil || got.Total.Runs != 2 || got.Total.TotalUSD != 1 {
		t.Errorf("a run with two tags counts once in the total: %+v, %v", got.Total, err)
	}
	if _, err := s.Cost(Filter{}, "moon"); err == nil || !strings.Contains(err.Error(), "session") {
		t.Errorf("unknown group: %v", err)
	}

	live.Append(execution.Event{Time: time.Now(), Body: execution.SessionStart{SessionID: "s-live"}})
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if runs, err := s.List(Filter{Session: "s-live"}); err == nil && len(runs) == 1 {
			return
		}
	}
	t.Error("the session of the live run is not listed")
}

func TestRunIndex(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	s := open(t, dir, Options{})
	project := t.TempDir()
	deep := filepath.Join(project, "a", "b")
	for _, d := range []string{filepath.Join(project, projectName), filepath.Join(deep, "c")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(deep, projectName), nil, 0o600); err != nil { // a file of that name is no project
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 4, 5, 6, 7, 8_900_000, time.FixedZone("x", 3600))
	r := resultOf(0.5)
	id := record(t, s, Meta{Agent: "claude", Cwd: filepath.Join(deep, "c"), StartedAt: at, Tags: []string{"t"}}, r)
	bare := execution.Result{Status: execution.StatusFailed}
	second := record(t, s, Meta{Agent: "x", Cwd: deep, StartedAt: at}, bare)
	b, err := os.ReadFile(filepath.Join(project, projectName, runIndexName))
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"v":1,"runId":"%s","agent":"claude","model":"m1","sessionId":"s1","timestamp":"2026-03-04T04:06:07.008Z","cost":%s,"tags":["t"]}
{"v":1,"runId":"%s","agent":"x","timestamp":"2026-03-04T04:06:07.008Z","tags":[]}
`, id, toJSON(t, r.Cost), second)
	if d := cmp.Diff(want, string(b)); d != "" {
		t.Errorf("run index (-want +got):\n%s", d)
	}
	record(t, s, Meta{Agent: "y"}, bare)
	if b, err := os.ReadFile(filepath.Join(dir, runIndexName)); err != nil || strings.Count(string(b), "\n") != 1 {
		t.Errorf("beside the store: %q, %v", b, err)
	}

	path := filepath.Join(project, projectName, runIndexName)
	if err := os.WriteFile(path, []byte(`{"torn`), 0o600); err != nil {
		t.Fatal(err)
	}
	record(t, s, Meta{Cwd: deep, Tags: []string{strings.Repeat("long", 5000)}}, bare)
	if b, _ := os.ReadFile(path); strings.Count(string(b), "\n") != 2 || !strings.HasPrefix(string(b), "{\"torn\n{\"v\":1,") {
		t.Errorf("after a torn line: %.60q", b)
	}

	if runtime.GOOS == "windows" {
		return
	}
	victim := filepath.Join(t.TempDir(), "victim")
	if err := errors.Join(os.Remove(path), os.WriteFile(victim, []byte("mine"), 0o600), os.Symlink(victim, path)); err != nil {
		t.Fatal(err)
	}
	w := begin(t, s, Meta{Cwd: deep})
	if err := w.Finish(bare); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a link in the place of the index: %v", err)
	}
	if b, _ := os.ReadFile(victim); string(b) != "mine" {
		t.Error("the target of a link was written to")
	}
}

// The end of a run is the time of its result's file, which may lag behind the clock.
func TestEndIsNotBeforeTheStart(t *testing.T) {
	t.Parallel()
	s := open(t, stateDir(t), Options{})
	id := record(t, s, Meta{}, resultOf(1))
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(s.runDir(id), resultName), past, past); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Get(string(id)); err != nil || r.EndedAt.Before(r.StartedAt) {
		t.Errorf("started %s, ended %s, %v", r.StartedAt, r.EndedAt, err)
	}
}
