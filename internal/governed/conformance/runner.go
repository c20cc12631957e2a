package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// DefaultTimeout is the time limit of an implementation for one fixture.
const DefaultTimeout = 30 * time.Second

// Options select the fixtures, and configure the run.
type Options struct {
	Tier    int           // the highest; zero means all
	Surface string        // only this one; empty means all
	Timeout time.Duration // per fixture; zero means DefaultTimeout
}

// Outcome is the outcome of one fixture.
type Outcome struct {
	FixtureID string `json:"fixture_id"`
	Surface   string `json:"surface"`
	Tier      int    `json:"tier"`
	Status    Status `json:"status"`
	Message   string `json:"message"`

	Actual  json.RawMessage `json:"-"`
	Skipped bool            `json:"-"` // the implementation does not claim it, so it was not run
}

// ErrSelection means that Options select no fixture that could be run.
var ErrSelection = errors.New("nothing to run")

// Run runs the fixtures in order and returns an outcome for each selected one. The error means that not all could be
// run: invalid options, an implementation that does not state its claims, a cancelled ctx.
func Run(ctx context.Context, t Target, fixtures []Fixture, o Options) (Capabilities, []Outcome, error) {
	if o.Tier == 0 {
		o.Tier = Tiers
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Tier < 1 || o.Tier > Tiers {
		return Capabilities{}, nil, fmt.Errorf("%w: the tier is %d, not 1 to %d", ErrSelection, o.Tier, Tiers)
	}
	chosen := slices.DeleteFunc(slices.Clone(fixtures), func(f Fixture) bool {
		return f.Tier > o.Tier || o.Surface != "" && f.Surface != o.Surface
	})
	if len(chosen) == 0 {
		return Capabilities{}, nil, nothing(fixtures, o)
	}
	c, err := capabilities(ctx, t, o.Timeout)
	if err != nil {
		return Capabilities{}, nil, err
	}
	if o.Surface != "" && !c.claims(o.Surface) {
		return c, nil, fmt.Errorf("%w: %s does not claim the surface %s", ErrSelection, c.Implementation, o.Surface)
	}
	outcomes := make([]Outcome, len(chosen))
	var group sync.WaitGroup
	slots := make(chan struct{}, t.Concurrency())
	for i, f := range chosen {
		switch {
		case !c.claimsTier(f.Tier):
			outcomes[i] = skipped(f, fmt.Sprintf("%s does not claim tier %d", c.Implementation, f.Tier))
			continue
		case c.disclaims(f.Surface):
			outcomes[i] = skipped(f, fmt.Sprintf("%s does not claim the surface %s", c.Implementation, f.Surface))
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() {
			outcomes[i] = one(ctx, t, f, o.Timeout)
			<-slots
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return c, nil, fmt.Errorf("run the fixtures: %w", context.Cause(ctx))
	}
	return c, outcomes, nil
}

// nothing explains why no fixture is selected.
func nothing(fixtures []Fixture, o Options) error {
	var surfaces []string
	for _, f := range fixtures {
		if !slices.Contains(surfaces, f.Surface) {
			surfaces = append(surfaces, f.Surface)
		}
	}
	if len(surfaces) == 0 {
		return fmt.Errorf("%w: the suite has no fixtures", ErrSelection)
	}
	slices.Sort(surfaces)
	return fmt.Errorf("%w: the suite has no fixture of surface %q up to tier %d; its surfaces are %s", ErrSelection, o.Surface, o.Tier, strings.Join(surfaces, ", "))
}

func capabilities(ctx context.Context, t Target, timeout time.Duration) (Capabilities, error) {
	ctx, cancel := limit(ctx, timeout)
	defer cancel()
	return t.Capabilities(ctx)
}

func limit(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("no answer within %s: %w", d, context.DeadlineExceeded))
}

func skipped(f Fixture, why string) Outcome {
	return Outcome{FixtureID: f.ID, Surface: f.Surface, Tier: f.Tier, Status: NotImplemented, Message: why, Skipped: true}
}

// one runs a fixture and compares the answer with what is expected: an implementation that reports pass must have done
// it.
func one(ctx context.Context, t Target, f Fixture, timeout time.Duration) Outcome {
	ctx, cancel := limit(ctx, timeout)
	defer cancel()
	out := Outcome{FixtureID: f.ID, Surface: f.Surface, Tier: f.Tier}
	a, err := t.Execute(ctx, f)
	if err != nil {
		out.Status, out.Message = Error, err.Error()
		return out
	}
	out.Status, out.Message, out.Actual = a.Status, a.Message, a.Actual
	if a.Status != Pass {
		return out
	}
	if len(a.Actual) == 0 {
		out.Status, out.Message = Error, "the implementation reports pass, but its answer has no actual"
	} else if err := MatchJSON(f.Expected, a.Actual); err != nil {
		out.Status, out.Message = Fail, "the implementation reports pass, but "+err.Error()
	}
	return out
}
