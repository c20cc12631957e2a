package cliagent_test

import (
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

func TestCount(t *testing.T) {
	for text, want := range map[string]int64{"5": 5, "5.0": 5, "5.5": 5, "1e2": 100, "-1": 0, "-1.5": 0, `"5"`: 0, "null": 0, "{}": 0,
		"1125899906842624": 1 << 50, "1125899906842625": 0, "99999999999999999999": 0, "1e300": 0} {
		v, err := jsonscan.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := cliagent.Count(v); got != want {
			t.Errorf("%s counts as %d, want %d", text, got, want)
		}
	}
}

func TestMoment(t *testing.T) {
	for text, want := range map[string]time.Time{`"2026-11-20T11:44:18.706Z"`: time.Date(2026, 11, 20, 11, 44, 18, 706e6, time.UTC),
		`"2026-11-20T11:44:18Z"`: time.Date(2026, 11, 20, 11, 44, 18, 0, time.UTC), `"today"`: {}, "5": {}, "null": {}} {
		v, err := jsonscan.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := cliagent.Moment(v); !got.Equal(want) {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}
