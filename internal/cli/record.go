package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/runstore"
)

// RecordError gives an error of the record its code. An unknown run has the code of an unknown session.
func RecordError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, runstore.ErrBadID):
		return execution.Errorf(execution.CodeValidation, "%w", err).WithHint("drawbar ps --all lists runs")
	case errors.Is(err, runstore.ErrNotFound), errors.Is(err, runstore.ErrAmbiguous):
		return execution.Errorf(execution.CodeSessionNotFound, "%w", err)
	case errors.Is(err, runstore.ErrLost):
		return execution.Errorf(execution.CodeAgentCrash, "%w", err)
	}
	return execution.Errorf(execution.CodeConfig, "%w", err)
}

// Number is a count with its noun: 1 process, 2 processes.
func Number(n int, one, many string) string {
	if n == 1 {
		many = one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Age formats a duration in its largest unit.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// Run returns a recorded run.
func (a *App) Run(id string) (runstore.Run, error) {
	s, err := a.Store()
	if err != nil {
		return runstore.Run{}, err
	}
	r, err := s.Get(id)
	if err := errors.Join(err, s.Close()); err != nil {
		return r, RecordError(err)
	}
	return r, nil
}

// LiveRun returns a run that another process controls; hint is what to type if it has ended.
func (a *App) LiveRun(id, hint string) (runstore.Run, error) {
	r, err := a.Run(id)
	if err == nil && !r.Live {
		err = execution.Errorf(execution.CodeRunNotActive, "run %s has ended: %s", r.ID, EndOf(r.State, r.ErrorCode)).WithHint("%s", hint)
	}
	return r, err
}

// Since parses a point in time: a duration before now such as 24h or 7d, a date, or a time in RFC 3339.
func Since(flag, s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if n := len(s) - 1; s[n] == 'd' {
		if d, err := time.ParseDuration(s[:n] + "h"); err == nil && d >= 0 {
			return now.Add(-24 * d), nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, Usage("--%s %q is not a date or duration", flag, s).WithHint("a duration such as 24h or 7d, a date such as 2006-01-02, or RFC 3339")
}
