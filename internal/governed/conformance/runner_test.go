package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// local answers by the fixture's id.
func local(claims Capabilities, answers map[string]Answer) Local {
	return Local{Claims: claims, Jobs: 3, Run: func(ctx context.Context, f Fixture) Answer {
		switch f.ID {
		case "panic":
			panic("no")
		case "slow":
			<-ctx.Done()
			return Answer{Status: Pass}
		}
		return answers[f.ID]
	}}
}

var claims = Capabilities{Implementation: "impl", ProtocolVersion: "v7", Tiers: []int{1, 2}, Surfaces: map[string]bool{"s": true, "no": false}}

func TestRunHoldsAnswersAgainstWhatIsExpected(t *testing.T) {
	fixtures := []Fixture{
		fixture(t, "good", 1, "s", `{"a":1}`), fixture(t, "liar", 1, "s", `{"a":1}`), fixture(t, "silent", 1, "s", `{"a":1}`),
		fixture(t, "honest", 1, "s", `{"a":1}`), fixture(t, "not-yet", 2, "other", `{}`), fixture(t, "panic", 2, "s", `{}`),
		fixture(t, "declined", 2, "no", `{}`), fixture(t, "third", 3, "s", `{}`),
	}
	target := local(claims, map[string]Answer{
		"good": {Status: Pass, Message: "fine", Actual: []byte(`{"a":1,"b":2}`)}, "liar": {Status: Pass, Actual: []byte(`{"a":2}`)}, "silent": {Status: Pass},
		"honest": {Status: Fail, Message: "it differs", Actual: []byte(`{"a":2}`)}, "not-yet": {Status: NotImplemented, Message: "later"},
	})
	c, got, err := Run(t.Context(), target, fixtures, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Outcome{
		{FixtureID: "good", Surface: "s", Tier: 1, Status: Pass, Message: "fine"},
		{FixtureID: "liar", Surface: "s", Tier: 1, Status: Fail, Message: "the implementation reports pass, but a: want 1, got 2"},
		{FixtureID: "silent", Surface: "s", Tier: 1, Status: Error, Message: "the implementation reports pass, but its answer has no actual"},
		{FixtureID: "honest", Surface: "s", Tier: 1, Status: Fail, Message: "it differs"},
		{FixtureID: "not-yet", Surface: "other", Tier: 2, Status: NotImplemented, Message: "later"},
		{FixtureID: "panic", Surface: "s", Tier: 2, Status: Error, Message: "the implementation panicked: no"},
		{FixtureID: "declined", Surface: "no", Tier: 2, Status: NotImplemented, Message: "impl does not claim the surface no"},
		{FixtureID: "third", Surface: "s", Tier: 3, Status: NotImplemented, Message: "impl does not claim tier 3"},
	}
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var plain []Outcome
	if err := json.Unmarshal(b, &plain); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, plain); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(string(b), `[{"fixture_id":"good","surface":"s","tier":1,"status":"pass","message":"fine"}`) {
		t.Errorf("as JSON: %s", b)
	}

	r := Summarize(c, got, 3, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	report, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	err = MatchJSON([]byte(`{"implementation":"impl","protocol_version":"v7","tier_requested":3,"timestamp":"2026-01-02T03:04:05.000Z","target_root":null,
		"remote":null,"fixture_root":null,"overall":"error","results":{
		"tier_1":{"status":"error","fixtures_run":4,"fixtures_passed":1,"fixtures_failed":2,"fixtures_errored":1,"fixtures_not_implemented":0,
			"surfaces":{"s":{"passed":1,"failed":2,"errored":1,"not_implemented":0}},
			"failures":[{"fixture_id":"liar","surface":"s","message":{"assert":"nonempty_string"},"actual":{"a":2}},{"fixture_id":"honest"}],
			"errors":[{"fixture_id":"silent"}],"not_implemented":[]},
		"tier_2":{"status":"error","fixtures_run":2,"fixtures_not_implemented":1,"not_implemented":[{"fixture_id":"not-yet","message":"later"}],"errors":[{"fixture_id":"panic"}]},
		"tier_3":{"status":"skipped","fixtures_run":0,"surfaces":{},"note":"impl does not claim tier 3"}}}`), report)
	if err != nil {
		t.Errorf("report: %v\n%s", err, report)
	}
}

func TestRunChooses(t *testing.T) {
	fixtures := []Fixture{fixture(t, "a", 1, "s", `{}`), fixture(t, "b", 2, "s", `{}`), fixture(t, "c", 1, "r", `{}`), fixture(t, "d", 1, "no", `{}`)}
	pass := Answer{Status: Pass, Actual: []byte(`{}`)}
	target := local(claims, map[string]Answer{"a": pass, "b": pass, "c": pass})
	for _, tc := range []struct {
		name string
		o    Options
		want string
		err  string
	}{
		{"tier 1", Options{Tier: 1}, "a c d", ""},
		{"tier 2 of a surface", Options{Tier: 2, Surface: "s"}, "a b", ""},
		{"a surface that is not claimed", Options{Surface: "no"}, "", "impl does not claim the surface no"},
		{"a surface that is not mentioned", Options{Surface: "r"}, "", "impl does not claim the surface r"},
		{"a surface that the suite lacks", Options{Surface: "x"}, "", "its surfaces are no, r, s"},
		{"no such tier", Options{Tier: 4}, "", "the tier is 4"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, out, err := Run(t.Context(), target, fixtures, tc.o)
			var ids []string
			for _, o := range out {
				ids = append(ids, o.FixtureID)
			}
			if got := strings.Join(ids, " "); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if tc.err != "" && (!errors.Is(err, ErrSelection) || !strings.Contains(err.Error(), tc.err)) || tc.err == "" && err != nil {
				t.Errorf("error %v, want %s", err, tc.err)
			}
		})
	}
	if _, _, err := Run(t.Context(), target, nil, Options{}); !errors.Is(err, ErrSelection) {
		t.Errorf("an empty suite: %v", err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	target := Local{Claims: claims, Run: func(context.Context, Fixture) Answer { cancel(why); return Answer{Status: Pass} }}
	if _, out, err := Run(ctx, target, []Fixture{fixture(t, "a", 1, "s", `{}`), fixture(t, "b", 1, "s", `{}`)}, Options{}); !errors.Is(err, why) || out != nil {
		t.Errorf("got %v, %v", out, err)
	}
}

func TestOverall(t *testing.T) {
	for _, tc := range []struct {
		list []Status
		want Status
		exit int
	}{
		{nil, Pass, 0},
		{[]Status{Pass, NotImplemented}, Pass, 0},
		{[]Status{Fail, Pass}, Fail, 1},
		{[]Status{Error, Fail}, Error, 2},
		{[]Status{Fail, Error}, Error, 2},
	} {
		var list []Outcome
		for _, s := range tc.list {
			list = append(list, Outcome{Status: s})
		}
		if got := Overall(list); got != tc.want || got.ExitCode() != tc.exit {
			t.Errorf("%v: got %s (%d)", tc.list, got, got.ExitCode())
		}
	}
	if NotImplemented.ExitCode() != 3 {
		t.Error("not_implemented exits with 3")
	}
}
