package drawbar

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/atomicfile"
	"github.com/drawbar/drawbar/internal/base/lookpath"
	"github.com/drawbar/drawbar/internal/governed/coordinator"
	"github.com/drawbar/drawbar/internal/governed/orchestrator"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/drawbar/drawbar/internal/runstore"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/internal/settings/trust"
)

// OpenProject opens the governed project of dir: the nearest folder at or above dir with an agentxchain.json.
// It starts nothing, takes no lock and reads no file; each method of the engine reads the files when called.
func OpenProject(dir string, o govern.Options) (govern.Engine, error) {
	root, err := project.Find(dir)
	if err != nil {
		return nil, err
	}
	opts := orchestrator.Options{Agents: o.Agents, Owner: cmp.Or(o.Owner, os.Args[0]), Getenv: os.Getenv, Environ: os.Environ(), Notice: o.Notice, Approve: o.Approve, Answer: o.Answer}
	if opts.Trust, err = trusts(protocol.ConfigFile, o.Trust); err != nil {
		return nil, err
	}
	opts.Clone = cloneName
	return orchestrator.OpenShared(root, opts)
}

// cloneName returns an id for the clone at root, different for each machine and folder. Its random part is stored in the user's configuration
// directory, because agents could change a file of the project.
func cloneName(root string) (string, error) {
	dir, err := config.UserDir(os.Getenv)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "machine-id")
	id, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			err = atomicfile.New(file, []byte(rand.Text()+"\n"), 0o600)
		}
		if err == nil || errors.Is(err, fs.ErrExist) {
			id, err = os.ReadFile(file)
		}
	}
	if err != nil {
		return "", execution.Errorf(execution.CodeConfig, "create the id of this machine: %w", err).WithHint("make %s writable", dir)
	}
	sum := sha256.Sum256(append(id, root...))
	return hex.EncodeToString(sum[:12]), nil
}

// trusts checks the items of a configuration file against what the user has trusted and asks about the rest.
func trusts(file string, ask func(string, []govern.TrustItem) bool) (func(string, []trust.Item) error, error) {
	dir, err := config.UserDir(os.Getenv)
	if err != nil {
		return nil, err
	}
	store := trust.Store{File: trust.FileIn(dir)}
	return func(root string, items []trust.Item) error {
		if err := (config.Dirs{User: dir}).Own(root, file); err != nil {
			return err
		}
		pending, err := store.Pending(root, items)
		if err != nil || len(pending) == 0 {
			return err
		}
		list := make([]govern.TrustItem, len(pending))
		for i, p := range pending {
			list[i] = govern.TrustItem{File: p.Item.File, Place: p.Item.Place, Runs: p.Item.Runs}
			for _, f := range p.Item.Files {
				list[i].Files = append(list[i].Files, f.Path)
			}
		}
		if ask != nil && ask(root, list) {
			return nil
		}
		return trust.Refusal(root, pending)
	}, nil
}

// GovernedAgents runs turns of governed runs with the client's agents.
func (c *Client) GovernedAgents() govern.Agents {
	return GovernedAgents(func() (*Client, error) { return c, nil })
}

// GovernedAgents returns agents of a client that is created when a turn first needs one.
func GovernedAgents(client func() (*Client, error)) govern.Agents { return governedAgents{client} }

type governedAgents struct{ client func() (*Client, error) }

// ready returns the client. A configuration that cannot be read is an error, because it may contain budgets.
func (a governedAgents) ready() (*Client, error) {
	c, err := a.client()
	if err == nil && c.opts.Declared.Broken != nil {
		return nil, c.opts.Declared.Broken
	}
	return c, err
}

// Sweep ends processes of runs whose own process is gone.
func (a governedAgents) Sweep() error {
	c, err := a.client()
	if err == nil {
		_, err = c.RemoveLeftovers()
	}
	return err
}

// ReadOutput returns a parser for a program's output if line is the first record of one of the client's agents,
// else nil.
func (a governedAgents) ReadOutput(line []byte) adapter.Output {
	c, err := a.client()
	if err != nil {
		return nil // the run itself reports a missing client
	}
	for _, info := range c.Adapters().List() {
		if e, err := c.Adapters().Get(info.Agent); err == nil {
			if r, ok := adapter.As[adapter.OutputReader](e.Adapter); ok {
				if out := r.ReadOutput(line); out != nil {
					return out
				}
			}
		}
	}
	return nil
}

// Negotiate reports what the agent can do and whether its program is installed; it starts nothing.
func (a governedAgents) Negotiate(_ context.Context, req execution.Request) (execution.Negotiation, error) {
	c, err := a.ready()
	if err != nil {
		return execution.Negotiation{}, err
	}
	entry, err := c.Adapters().Get(req.Run.Agent)
	if err != nil {
		return execution.Negotiation{}, err
	}
	if r, ok := adapter.As[interface{ Elsewhere() bool }](entry.Adapter); ok && r.Elsewhere() {
		return execution.Negotiation{}, execution.Errorf(execution.CodeCapability, "%s works in a directory of another machine, not in this repository", req.Run.Agent).
			WithHint("run the project there, or set its directory to {cwd} if both sides have the same files: drawbar agents edit %s", req.Run.Agent)
	}
	if command := entry.Descriptor.Command; command != "" {
		if _, err := lookpath.In(os.Environ(), "", command); err != nil {
			return execution.Negotiation{}, execution.Errorf(execution.CodeAgentNotInstalled, "%s is not installed: no command %q on PATH", req.Run.Agent, command).
				WithHint("drawbar agents install %s", req.Run.Agent)
		}
	}
	return c.Negotiate(req, RunOptions{})
}

// Run starts the agent. The run is recorded like any other.
func (a governedAgents) Run(ctx context.Context, req execution.Request, o agent.Options) (*agent.Run, error) {
	c, err := a.ready()
	if err != nil {
		return nil, err
	}
	return c.Run(ctx, req, RunOptions{Options: o})
}

// Spend begins the record of a turn that asks a model's API itself.
func (a governedAgents) Spend(req *execution.Request, priced bool) (func(execution.Result) error, error) {
	c, err := a.ready()
	if err != nil {
		return nil, err
	}
	req.Run.RunID = agent.NewRunID()
	d := adapter.Descriptor{Name: req.Run.Agent}
	opts := RunOptions{Options: agent.Options{Secrets: secrets(*req, d)}}
	w, err := c.begin(req, catalog.Entry{Descriptor: d}, func() bool { return priced }, &opts)
	return func(res execution.Result) error { return finish(w, *req, res) }, err
}

// finish ends the record of a turn that no agent carried out.
func finish(w *runstore.Writer, req execution.Request, res execution.Result) error {
	res.SchemaVersion, res.BackendID, res.RunID, res.Agent, res.Model = execution.SchemaVersion, req.Run.Agent, req.Run.RunID, req.Run.Agent, req.Run.Model
	res.Tags = req.Run.Tags
	w.Append(execution.Event{RunID: req.Run.RunID, Agent: req.Run.Agent, Time: time.Now(), Seq: 1, Caller: new(req.Correlation()), Body: execution.Finished{Result: res}})
	return w.Finish(res)
}

// Afford refuses a turn that would count in a budget that is used up.
func (a governedAgents) Afford(req execution.Request) error {
	c, err := a.ready()
	if err != nil || len(c.opts.Budgets) == 0 {
		return err
	}
	_, err = c.afford(req, catalog.Entry{Descriptor: c.counts(&req)}, RunOptions{})
	return err
}

// Spent records a turn that has ended. What its worker spent in runs of Drawbar's is recorded with those, and is part of what it states.
func (a governedAgents) Spent(req execution.Request, res execution.Result) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	runs, err := c.runsOf(req.TurnID)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if r.TurnID == req.TurnID || r.StartedAt.Before(req.Message.ReceivedAt.Truncate(time.Millisecond)) || r.Cost == nil || res.Cost == nil {
			continue
		}
		left := res.Cost.Usage().Sub(r.Cost.Usage())
		left.Input, left.Output, left.Cached, left.CacheWrite = max(0, left.Input), max(0, left.Output), max(0, left.Cached), max(0, left.CacheWrite)
		usd := res.Cost.TotalUSD
		if usd != nil && r.Cost.TotalUSD != nil {
			usd = new(max(0, *usd-*r.Cost.TotalUSD))
		}
		left = left.WithTotal()
		res.Usage, res.Cost = &left, new(execution.CostOf(left, usd, res.Cost.Source))
	}
	req.Run.RunID = agent.NewRunID()
	d := c.counts(&req)
	w, err := c.record(req, d, &RunOptions{Options: agent.Options{Secrets: secrets(req, d)}, begun: req.Message.ReceivedAt}, 0)
	if err != nil {
		return err
	}
	return finish(w, req, res)
}

// Recorded returns what the runs of a turn cost.
func (a governedAgents) Recorded(turn string) ([]execution.Result, error) {
	c, err := a.client()
	if err != nil {
		return nil, err
	}
	runs, err := c.runsOf(turn)
	var ended []execution.Result
	for _, r := range runs {
		if !r.Live && r.TurnID == turn {
			ended = append(ended, execution.Result{RunID: r.ID, Model: r.Model, Cost: r.Cost})
		}
	}
	return ended, err
}

// runsOf lists the recorded runs of a turn, and those that its worker started.
func (c *Client) runsOf(turn string) ([]runstore.Run, error) {
	store, err := c.openStore()
	if err != nil || store == nil {
		return nil, err
	}
	return store.List(runstore.Filter{Tag: govern.TurnTag(turn)})
}

// counts sets the agent that a turn counts for: the one whose program its command starts, if there is one.
func (c *Client) counts(req *execution.Request) adapter.Descriptor {
	if len(req.Run.Command) > 0 {
		for _, info := range c.registry.List() {
			if e, err := c.registry.Get(info.Agent); err == nil && e.Descriptor.Command == req.Run.Command[0] {
				req.Run.Agent = e.Descriptor.Name
				break
			}
		}
	}
	return adapter.Descriptor{Name: req.Run.Agent}
}

// OpenCoordinator returns the coordinator of the workspace that contains dir: the nearest folder upwards with agentxchain-multi.json.
func OpenCoordinator(dir string, o govern.Options) (govern.Coordinator, error) {
	root, err := coordinator.Find(dir)
	if err != nil {
		return nil, err
	}
	opts := coordinator.Options{Environ: os.Environ(), Open: func(root string) (govern.Engine, error) { return OpenProject(root, o) }}
	if opts.Trust, err = trusts(protocol.CoordinatorConfigFile, o.Trust); err != nil {
		return nil, err
	}
	if o.Notice != nil {
		opts.Note = func(line string) { o.Notice(govern.Notice{Kind: govern.NoticeHook, Text: line}) }
	}
	return coordinator.Open(root, opts), nil
}
