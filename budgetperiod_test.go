package drawbar

import (
	"testing"
	"time"
	_ "time/tzdata"
)

// TestPeriods: a day ends at midnight also when clocks are changed, a week begins on Monday, a month on its first day.
func TestPeriods(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		period            Period
		now, since, until string
	}{
		{PeriodDay, "2026-10-25T23:59:59+01:00", "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"},
		{PeriodDay, "2026-12-31T00:00:00+01:00", "2026-12-31T00:00:00+01:00", "2027-01-01T00:00:00+01:00"},
		{PeriodWeek, "2026-11-29T12:00:00+01:00", "2026-11-23T00:00:00+01:00", "2026-11-30T00:00:00+01:00"}, // a Sunday
		{PeriodWeek, "2026-11-30T00:00:00+01:00", "2026-11-30T00:00:00+01:00", "2026-12-07T00:00:00+01:00"},
		{PeriodWeek, "2027-01-01T12:00:00+01:00", "2026-12-28T00:00:00+01:00", "2027-01-04T00:00:00+01:00"},
		{PeriodMonth, "2026-12-31T23:00:00+01:00", "2026-12-01T00:00:00+01:00", "2027-01-01T00:00:00+01:00"},
		{PeriodMonth, "2028-02-29T23:00:00+01:00", "2028-02-01T00:00:00+01:00", "2028-03-01T00:00:00+01:00"},
	} {
		at := func(s string) time.Time {
			v, err := time.Parse(time.RFC3339, s)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		since, until := tt.period.around(at(tt.now).In(berlin))
		if !since.Equal(at(tt.since)) || !until.Equal(at(tt.until)) {
			t.Errorf("%s of %s is %s to %s", tt.period, tt.now, since, until)
		}
	}
}
