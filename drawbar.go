// Package drawbar is the product's API for Go programs: a client that detects agents, runs them, and records
// the runs.
//
// Blank-import github.com/drawbar/drawbar/adapter/all for the built-in agents, or only the adapters that you
// want:
//
//	client, err := drawbar.New(drawbar.Options{})
//	run, err := client.Run(ctx, execution.Request{Message: execution.Message{Text: "fix the test"},
//		Run: execution.RunOptions{Agent: "claude"}}, drawbar.RunOptions{})
//	for event, err := range run.Events(ctx, 0) { ... }
//	result, err := run.Result(ctx)
//
// Package execution defines requests, events and results; package sessions defines sessions and costs; package
// govern defines governed runs.
//
// On Linux, a program that calls Supervise first in main also ends all descendants of its agents when it is
// killed.
package drawbar

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/hookrelay"
	"github.com/drawbar/drawbar/adapter/kit/oshost"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/agentdata/modelcache"
	"github.com/drawbar/drawbar/internal/base/statedir"
	"github.com/drawbar/drawbar/internal/control"
	"github.com/drawbar/drawbar/internal/runrecording"
	"github.com/drawbar/drawbar/internal/runstore"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/transport/process"
	"github.com/drawbar/drawbar/transport/remote"
)

// Options configure a client. The zero value uses the registered agents and records runs.
type Options struct {
	// Agents are the agents known from the start; nil means those registered by blank imports.
	Agents []adapter.Descriptor
	// Declared are the agents of a configuration, in addition to Agents. Configured sets it.
	Declared catalog.Declared
	// Allow is asked before each run with its agent, those that take over if it fails, and the program that the run names, which is a
	// descriptor with a Command alone; and the directory that they work in. An error refuses the run. Nil allows all. Configured sets it to refuse a project of which these agents would run something that the user has not
	// trusted with "drawbar trust" (PROJECT_NOT_TRUSTED).
	Allow func(agents []adapter.Descriptor, dir string) error
	// Host is the machine that detection inspects; nil is this machine.
	Host *adapter.Host
	// DefaultAgent runs requests that do not name an agent.
	DefaultAgent string
	// Defaults fill the options that a request leaves at their zero value: maps are merged, other values are
	// copied whole. Command applies to agents that run a caller's program. New refuses options that belong to
	// one run (Agent, RunID, SessionID, ForkSessionID).
	Defaults execution.RunOptions
	// Models add to or override the models that agents declare; later entries win.
	Models []ModelDeclaration
	// Budgets limit what runs may cost together. They need the run record; a run that it cannot take is refused.
	Budgets []Budget
	// StateDir is the directory of the run record and of the sessions that Drawbar keeps itself, of model APIs and the built-in agent; empty is
	// the platform's state directory (DRAWBAR_STATE_DIR overrides it).
	StateDir string
	// NoRecord disables the run record.
	NoRecord bool
	// Control lets other processes of this user reach the runs: drawbar attach, stop and wait. It requires the
	// record.
	Control bool
	// Record is a file to which ended runs are added, to be replayed: what the agents did, without secrets. It is created or
	// continued; a run that was recorded in it before is refused.
	Record string
	// Replay is a file of recorded runs that answer in place of the agents, which need not be installed. Tools, hooks and the functions
	// that answer questions are called as at the recording. A run that nobody recorded is refused with what differs. Replayed runs
	// are not in the run record.
	Replay string
	// Logger receives warnings about the record, such as a full disk; the run continues unrecorded. nil
	// discards them.
	Logger *slog.Logger

	configured *config.Config // set by Configured
}

// Client runs agents. It is safe for concurrent use. Creating one touches no file.
type Client struct {
	opts     Options
	registry *catalog.Registry
	host     adapter.Host
	models   Models

	mu       sync.Mutex
	store    *runstore.Store
	sessions *Sessions
	recorder *runrecording.Recorder
	replayer *runrecording.Replayer
	closed   bool
	recorded map[chan struct{}]*agent.Run // runs whose record or recording is not ended; closed when it is
	swept    sync.Once
	open     sync.WaitGroup // records being written
}

// New creates a client. It fails if the options contradict each other or no run could have them.
func New(o Options) (*Client, error) {
	if o.NoRecord && o.StateDir != "" {
		return nil, execution.Errorf(execution.CodeValidation, "drawbar.New: StateDir and NoRecord are both set: nothing would be written to StateDir")
	}
	if err := errors.Join(checkDefaults(o.Defaults), checkRecordings(o), checkBudgets(o.Budgets)); err != nil {
		return nil, err
	}
	host := oshost.New(cliagent.Spawn)
	if o.Host != nil {
		host = *o.Host
	}
	if o.StateDir != "" {
		dir, err := filepath.Abs(o.StateDir)
		if err != nil {
			return nil, execution.Errorf(execution.CodeConfig, "drawbar.New: StateDir: %w", err)
		}
		o.StateDir, host = dir, host.Complete()
		getenv := host.Getenv
		host.Getenv = func(key string) string {
			if key == statedir.Variable {
				return dir
			}
			return getenv(key)
		}
	}
	c := &Client{opts: o, host: host}
	if o.Agents == nil {
		c.registry = catalog.Builtins(host)
	} else {
		c.registry = catalog.NewRegistry(o.Agents, host)
	}
	c.registry.KeepIn(o.StateDir)
	c.registry.Declare(o.Declared)
	c.models = Models{registry: c.registry, declared: o.Models, host: host, cache: modelcache.In(c.cacheDir())}
	if o.DefaultAgent != "" {
		if _, err := c.registry.Get(o.DefaultAgent); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Supervise must be the first call in main of a program whose agents must end with it on Linux: the program
// re-executes itself as a small supervisor of each run, and in that role Supervise never returns. On other
// platforms it does nothing.
//
// On every platform it is also the hook command that agents start in runs with a PreToolUse hook, and the process that
// stands for an agent elsewhere (Run.Invocation): without the call such runs are refused.
func Supervise() {
	process.MaybeKeeper()
	hookrelay.MaybeRelay()
	remote.MaybeProxy()
}

// Adapters returns the registry of agents.
func (c *Client) Adapters() *catalog.Registry { return c.registry }

// Models returns the models that the agents declare.
func (c *Client) Models() Models { return c.models }

// Detect reports whether an agent is installed; see adapter.Registry.Detect.
func (c *Client) Detect(ctx context.Context, name string) (*catalog.InstalledInfo, error) {
	return c.registry.Detect(ctx, name)
}

// RunOptions are agent.Options plus what only a client can resolve.
type RunOptions struct {
	agent.Options
	// Fallback lists agents to try, in order, when the previous one cannot serve the request.
	Fallback []string
	// Parent is the run that started this one; it is recorded.
	Parent execution.RunID
	// BudgetUSD is the most that the client's budgets reserve for a run that states no limit of its own; 0 leaves it to them.
	BudgetUSD float64
	// Detached marks a run that outlives the command that started it; it is recorded.
	Detached bool

	begun time.Time // of a turn that is recorded when it has ended; zero is now
}

// Run starts a run. It fills in what the request omits: the agent, ids, times and the client's defaults. The
// error is an *execution.Error about the request; later failures are in the run's result.
func (c *Client) Run(ctx context.Context, req execution.Request, opts RunOptions) (*agent.Run, error) {
	req, entry, err := c.prepare(req)
	if err != nil {
		return nil, err
	}
	backend, agents := c.backend(entry), []adapter.Descriptor{entry.Descriptor}
	for _, name := range opts.Fallback {
		e, err := c.registry.Get(name)
		if err != nil {
			return nil, err
		}
		opts.Options.Fallback = append(opts.Options.Fallback, c.backend(e))
		agents = append(agents, e.Descriptor)
	}
	if req.Run.RunID == "" {
		req.Run.RunID = agent.NewRunID()
	}
	if err := req.Validate(); err != nil {
		return nil, err // before anything is written
	}
	if caps := entry.Capabilities().Agent; caps.Skills && caps.SkillsFormat == "directory" {
		for _, s := range req.Run.Skills {
			if _, err := cliagent.SkillFolder(req.Run.Cwd, s); err != nil {
				return nil, err
			}
		}
	}
	if c.opts.Replay != "" {
		return c.replay(ctx, req, entry, backend, opts)
	}
	if c.opts.Allow != nil {
		if len(req.Run.Command) > 0 {
			agents = append(agents, adapter.Descriptor{Command: req.Run.Command[0]})
		}
		if err := c.opts.Allow(agents, req.Run.Cwd); err != nil {
			return nil, err
		}
	}
	version, learn, err := c.checkVersion(entry.Descriptor, req)
	if err != nil {
		return nil, err
	}
	req.SessionUsage = c.usedBefore(ctx, entry, req)
	if began := time.Now(); opts.SessionUsage == nil {
		opts.SessionUsage = func(agent, session string) execution.Usage {
			return c.SessionUsage(context.WithoutCancel(ctx), SessionSpan{Agent: agent, Session: session, Fork: req.Run.ForkSessionID, Since: began, Env: req.Run.Env, Before: req.SessionUsage})
		}
	}
	backend.Version, backend.Untested = version, entry.Descriptor.Untested(version)
	opts.Secrets = append(slices.Clone(opts.Secrets), secrets(req, entry.Descriptor)...)
	recording, err := c.recordTo(req, &backend, &opts)
	if err != nil {
		return nil, err
	}
	undecide, err := c.decide(req)
	if err != nil {
		return nil, err
	}
	writer, err := c.begin(&req, entry, func() bool { return limited(backend, req, opts.Options) }, &opts)
	if err != nil {
		undecide()
		return nil, err
	}
	run, err := agent.New(backend).Start(ctx, req, opts.Options)
	if err != nil {
		undecide()
		if writer != nil {
			c.warn(writer.Close())
		}
		return nil, err
	}
	c.swept.Do(func() {
		c.open.Go(func() {
			_, err := c.RemoveLeftovers()
			c.warn(err)
		})
	})
	if learn != nil {
		c.open.Go(func() { learn(run) })
	}
	if recording != nil {
		ended := c.recording(run)
		c.open.Go(func() { defer ended(); c.finishRecording(recording, run) })
	}
	if writer == nil {
		return run, nil
	}
	ended := c.recording(run)
	c.open.Go(func() {
		defer ended()
		var server *control.Server
		if c.opts.Control {
			var err error
			if server, err = control.Serve(writer.Run().ControlPath(), run); err != nil {
				c.warn(fmt.Errorf("other commands cannot reach run %s: %w", run.ID(), err))
			}
		}
		<-run.Done()
		if server != nil {
			c.warn(server.Close())
		}
		res, err := run.Result(context.Background())
		c.warn(err)
		if res.Status == execution.StatusUnsupported { // nothing ran
			undecide()
		}
		if res.Continuation != nil && waits(res.Status) {
			c.warn(writer.KeepRequest(continuable(run.Request(), opts.Secrets)))
		}
		c.warn(writer.Finish(res))
	})
	return run, nil
}

// Execute is Run to the end: it returns the run's result. The error is that of Run.
func (c *Client) Execute(ctx context.Context, req execution.Request, opts RunOptions) (execution.Result, error) {
	run, err := c.Run(ctx, req, opts)
	if err != nil {
		return execution.Result{}, err
	}
	return run.Result(context.WithoutCancel(ctx))
}

// Negotiate reports what the agent would do with a request. It starts, reads and writes nothing.
func (c *Client) Negotiate(req execution.Request, opts RunOptions) (execution.Negotiation, error) {
	req, entry, err := c.prepare(req)
	if err != nil {
		return execution.Negotiation{}, err
	}
	return agent.New(c.backend(entry)).Negotiate(req, opts.Options), nil
}

// cacheDir returns the state directory, empty if nothing may be written.
func (c *Client) cacheDir() string {
	if c.opts.NoRecord {
		return ""
	}
	if c.opts.StateDir != "" {
		return c.opts.StateDir
	}
	dir, err := runstore.DefaultDir()
	if err != nil {
		return "" // reported by what needs the record
	}
	return dir
}

func (c *Client) backend(e catalog.Entry) agent.Backend {
	d := e.Descriptor
	return agent.Backend{Name: d.Name, Adapter: e.Adapter, Models: c.models.of(d), DefaultModel: d.DefaultModel, Warning: e.Warning}
}

// prepare resolves the agent and fills in what the request omits.
func (c *Client) prepare(req execution.Request) (execution.Request, catalog.Entry, error) {
	req = req.Clone()
	run, entry, err := c.resolve(req.Run)
	if err != nil {
		return req, entry, err
	}
	req.Run = run
	req.SchemaVersion = cmp.Or(req.SchemaVersion, execution.SchemaVersion)
	req.AssistantID = cmp.Or(req.AssistantID, "drawbar")
	req.TurnID = cmp.Or(req.TurnID, newID("turn_"))
	req.Message.ID = cmp.Or(req.Message.ID, newID("msg_"))
	if req.Message.ReceivedAt.IsZero() {
		req.Message.ReceivedAt = time.Now().UTC()
	}
	if req.Run.Cwd == "" {
		if req.Run.Cwd, err = os.Getwd(); err != nil {
			return req, entry, execution.Errorf(execution.CodeValidation, "read the current directory: %w", err).WithHint("set it with Run.Cwd (--cwd)")
		}
	}
	return req, entry, nil
}

// Entry returns the agent that a run with these options would have: theirs, that of their profile, or the client's default.
func (c *Client) Entry(o execution.RunOptions) (catalog.Entry, error) {
	_, entry, err := c.resolve(o)
	return entry, err
}

// resolve finds the agent of a run and applies the profile and the client's defaults to its options. The agent
// comes from the options, then the profile, then the client.
func (c *Client) resolve(o execution.RunOptions) (execution.RunOptions, catalog.Entry, error) {
	defaults := c.opts.Defaults
	profile, cfg := cmp.Or(o.Profile, defaults.Profile), c.opts.configured
	if cfg != nil {
		profile = cmp.Or(profile, cfg.Profile())
	}
	o.Profile, defaults.Profile = "", ""
	var profiles config.Profiles
	if profile != "" {
		if cfg == nil {
			var err error
			if cfg, err = readConfig(cmp.Or(o.Cwd, defaults.Cwd)); err != nil {
				return o, catalog.Entry{}, err
			}
		}
		profiles = cfg.Profiles()
		d, err := profiles.Show(profile)
		if err != nil {
			return o, catalog.Entry{}, err
		}
		o.Agent = cmp.Or(o.Agent, d.Agent)
	}
	o.Agent = cmp.Or(o.Agent, c.opts.DefaultAgent)
	if o.Agent == "" {
		return o, catalog.Entry{}, execution.Errorf(execution.CodeValidation, "no agent is specified").WithHint("name one of: drawbar agents list")
	}
	entry, err := c.registry.Get(o.Agent)
	if err != nil {
		return o, catalog.Entry{}, err
	}
	o.Agent = entry.Descriptor.Name
	if profile != "" {
		if o, err = profiles.Apply(profile, o); err != nil {
			return o, entry, err
		}
	}
	if c.opts.configured != nil {
		base, err := c.opts.configured.Run(o.Agent)
		if err != nil {
			return o, entry, err
		}
		if model := c.opts.configured.DefaultModel(o.Agent); o.Model == "" && model != "" {
			if why := entry.RefusedModel(model); why != "" {
				base.Model, entry.Warning = "", strings.TrimPrefix(entry.Warning+"; "+why, "; ")
			}
		}
		o = o.WithDefaults(base)
	}
	if len(defaults.Command) > 0 && !entry.Capabilities().Agent.TakesCommand {
		defaults.Command = nil
	}
	return o.WithDefaults(defaults), entry, nil
}

// checkDefaults refuses defaults that no run could have or that belong to a single run.
func checkDefaults(d execution.RunOptions) error {
	for o := range execution.Options() {
		if o.In(execution.ReachDefaults) || !o.Stated(d) {
			continue
		}
		e := execution.Errorf(execution.CodeValidation, "drawbar.New: Defaults.%s belongs to a single run", o.Field().Name)
		if o.Name == "agent" {
			return e.WithHint("set Options.DefaultAgent")
		}
		return e.WithHint("set it in the request: Run.%s", o.Field().Name)
	}
	if err := d.Validate(); err != nil {
		return execution.Errorf(execution.CodeValidation, "drawbar.New: Defaults: %w", err)
	}
	return nil
}

func newID(prefix string) string {
	var b [10]byte
	rand.Read(b[:])
	return prefix + hex.EncodeToString(b[:])
}

func (c *Client) warn(err error) {
	if err != nil && c.opts.Logger != nil {
		c.opts.Logger.Warn(err.Error())
	}
}

// Close waits until the records of ended runs are written, then closes the store. Wait for or abort live runs
// first; Close blocks until they end.
func (c *Client) Close() error {
	c.open.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	var errs []error
	if c.sessions != nil {
		errs = append(errs, c.sessions.store.Close())
		c.sessions = nil
	}
	if c.store != nil {
		errs = append(errs, c.store.Close())
		c.store = nil
	}
	if c.recorder != nil {
		errs = append(errs, c.recorder.Close())
		c.recorder = nil
	}
	return errors.Join(errs...)
}

// NewExecutionAdapter is the factory of the BYOH specification: it wraps one agent in negotiate and execute.
func (c *Client) NewExecutionAdapter(name string) (*agent.Agent, error) {
	entry, err := c.registry.Get(name)
	if err != nil {
		return nil, err
	}
	return agent.New(c.backend(entry)), nil
}
