package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

// Check is one assertion of the suite.
type Check struct {
	Name  string     // unique, words joined with dashes
	Spec  string     // the rule and the specification that states it
	Needs []Scenario // a subject that cannot provoke all of them skips the check
	// Run examines the subject. Its error is the failure, unless it is made with Skip or Warn.
	Run func(ctx context.Context, s Subject) error
}

// Verdict is the outcome of a check.
type Verdict string

// The verdicts.
const (
	Pass    Verdict = "pass"
	Failing Verdict = "fail"
	Skipped Verdict = "skip"
)

// Outcome is the result of one check. Message is the failure, the reason of a skip, or a warning of a passed check.
type Outcome struct {
	Check   Check
	Verdict Verdict
	Message string
	Elapsed time.Duration
}

type notice struct {
	verdict Verdict
	message string
}

func (n *notice) Error() string { return n.message }

// Skip is the error of a check that does not apply to a subject. The reason is required.
func Skip(format string, args ...any) error { return &notice{Skipped, fmt.Sprintf(format, args...)} }

// Warn is the error of a check that passes with a warning.
func Warn(format string, args ...any) error {
	return &notice{Pass, "warning: " + fmt.Sprintf(format, args...)}
}

// Suite lists all checks: the fifteen assertions of the BYOH specification, its extras, control, and declared equals
// implemented.
func Suite() []Check {
	return slices.Concat(contractChecks(), extraChecks(), controlChecks(), declaredChecks(), hookChecks())
}

// RunAll runs every check on the subject in order and reports each when it ends. It returns the number of failures.
// When ctx is done, the remaining checks fail.
func RunAll(ctx context.Context, s Subject, report func(Outcome)) (failures int) {
	for _, c := range Suite() {
		o := RunOne(ctx, s, c)
		if o.Verdict == Failing {
			failures++
		}
		report(o)
	}
	return failures
}

// RunOne runs one check on the subject. A panic of the check or of the subject is a failure.
func RunOne(ctx context.Context, s Subject, c Check) (o Outcome) {
	started := time.Now()
	o.Check = c
	defer func() { o.Elapsed = time.Since(started) }()
	for _, need := range c.Needs {
		if reason, cannot := s.Cannot[need]; cannot {
			if strings.TrimSpace(reason) == "" {
				o.Verdict, o.Message = Failing, fmt.Sprintf("the subject cannot provoke %s and gives no reason", need)
				return o
			}
			o.Verdict, o.Message = Skipped, fmt.Sprintf("cannot provoke %s: %s", need, reason)
			return o
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.limit())
	defer cancel()
	err := guarded(func() error { return c.Run(ctx, s) })
	if left := survivors(s); left != nil {
		var n *notice
		if errors.As(err, &n) {
			err = nil
		}
		err = errors.Join(err, left)
	}
	o.Verdict = Pass
	var n *notice
	switch {
	case errors.As(err, &n):
		o.Verdict, o.Message = n.verdict, n.message
	case err != nil:
		o.Verdict, o.Message = Failing, err.Error()
	}
	return o
}

func survivors(s Subject) error {
	if s.Survivors == nil {
		return nil
	}
	if err := guarded(s.Survivors); err != nil {
		return fmt.Errorf("left behind: %w", err)
	}
	return nil
}

func guarded(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return fn()
}

// Test runs the suite as subtests of t.
func Test(t *testing.T, s Subject) {
	t.Helper()
	for _, c := range Suite() {
		t.Run(c.Name, func(t *testing.T) {
			switch o := RunOne(t.Context(), s, c); o.Verdict {
			case Failing:
				t.Errorf("%s: %s", c.Spec, o.Message)
			case Skipped:
				t.Skip(o.Message)
			default:
				if o.Message != "" {
					t.Log(o.Message)
				}
			}
		})
	}
}
