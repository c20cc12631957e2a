package drawbar

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	ver "github.com/drawbar/drawbar/internal/base/version"
	"github.com/drawbar/drawbar/internal/base/versioncache"
	"github.com/drawbar/drawbar/internal/runstore"
)

// learnAfter is how long a run must last before its agent's version is queried in parallel.
const learnAfter = time.Second

// checkVersion refuses an agent that is known to be too old. An unknown version does not delay the run: learn
// queries it in parallel when the run lasts, or after a run whose output was not understood, and warns; learn
// is nil if there is nothing to query. version is empty until known.
func (c *Client) checkVersion(d adapter.Descriptor, req execution.Request) (version string, learn func(run *agent.Run), err error) {
	if _, own := req.Run.Env["PATH"]; own || req.Run.Invocation.Elsewhere() || d.MinVersion == "" || c.opts.Host != nil {
		return "", nil, nil // another PATH means a different program than detection would find
	}
	dir := c.opts.StateDir
	if dir == "" {
		if dir, err = runstore.DefaultDir(); err != nil {
			return "", nil, nil // known from the record
		}
	}
	program, err := oshost.New(nil).LookPath(d.Command)
	if err != nil {
		return "", nil, nil // the kit reports what is missing and how to install it
	}
	cache := versioncache.In(dir)
	if version = cache.Lookup(program); version != "" {
		return version, nil, tooOld(d, version, program)
	}
	if c.opts.NoRecord {
		return "", nil, nil // nothing may be written
	}
	return "", func(run *agent.Run) {
		timer := time.NewTimer(learnAfter)
		defer timer.Stop()
		select {
		case <-run.Done():
			if !unheard(run) {
				return
			}
		case <-timer.C:
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			select {
			case <-run.Done():
				if !unheard(run) {
					cancel()
				}
			case <-ctx.Done():
			}
		}()
		defer func() { cancel(); <-ended }()
		info, err := c.registry.Detect(ctx, d.Name)
		if err != nil || info == nil || info.Version == "" {
			return
		}
		c.warn(cache.Store(program, info.Version))
		if old := tooOld(d, info.Version, program); old != nil {
			c.warn(old)
		} else if text := d.Untested(info.Version); text != "" {
			c.warn(errors.New(text))
		}
	}, nil
}

// unheard reports whether an ended run produced no output that its adapter understood, as a too old agent may.
func unheard(run *agent.Run) bool {
	res, err := run.Result(context.Background())
	if err != nil || res.SessionID != "" || res.Error == nil {
		return false
	}
	code := res.Error.ErrorCode()
	return code == execution.CodeInvalidOutput || code == execution.CodeAgentCrash
}

func tooOld(d adapter.Descriptor, version, program string) error {
	if order, err := ver.Compare(version, d.MinVersion); err != nil || order >= 0 {
		return nil // a version that cannot be compared is not treated as too old
	}
	e := execution.Errorf(execution.CodeAgentNotInstalled, "%s %s at %s is older than %s, the oldest supported version", d.DisplayName, version, filepath.Clean(program), d.MinVersion)
	if len(d.Install) > 0 {
		e = e.WithHint("%s", d.Install[0].Command)
	}
	return e
}
