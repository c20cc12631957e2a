// Package adapterinterface is for programs that run the turns of a governed project without Drawbar's command line: it
// runs the worker of an assigned turn on the runtimes that ship with Drawbar, and reads what the worker staged. It does
// not assign, judge or record: govern.Engine does (drawbar.OpenProject).
//
// A runner assigns a turn (Engine.Assign), calls the function for the type of its runtime, and accepts or rejects the
// result (Engine.Accept, Engine.Reject). The turn's bundle must be as it was sealed, and a person must have trusted
// the project, as for every command.
//
// The functions are those of specification 001, "Package export".
package adapterinterface

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/orchestrator"
	"github.com/drawbar/drawbar/internal/governed/orchestrator/turnruntime"
)

// Version is the version of this interface, ADAPTER_INTERFACE_VERSION of the protocol. It changes when a caller has to.
const Version = "0.1"

// Options say which turn is meant. The embedded options are those of drawbar.OpenProject; with Notice, the lines that
// the worker prints are notices of kind "log".
type Options struct {
	govern.Options
	Turn    string        // the assigned turn; empty: the only one
	Timeout time.Duration // time limit; 0: from the configuration
}

// Outcome says how the work on a turn ended.
type Outcome struct {
	TurnID string
	// Staged says that there is a result, which is not validated yet: see ReadStagedResult and Engine.Accept.
	Staged bool
	// Class is the reason why there is none, such as "timeout" or "exit"; Detail is a line about it, and Hint what to do.
	Class, Detail, Hint string
	ExitCode            int
	// Transient says that another attempt may help without any change, not before RetryAfter.
	Transient  bool
	RetryAfter time.Duration
	// Cancelled says that the context ended the work.
	Cancelled bool
	Cost      *protocol.Cost // nil if unknown
}

// DispatchLocalCLI runs the program of a turn whose runtime has the type local_cli, to its end. When ctx ends, the
// program and its processes are stopped. The error is about the project or this machine; a worker that failed is an
// Outcome.
func DispatchLocalCLI(ctx context.Context, dir string, o Options) (Outcome, error) {
	return dispatch(ctx, dir, o, protocol.RuntimeLocalCLI)
}

// DispatchAPIProxy asks the model of a turn whose runtime has the type api_proxy. See DispatchLocalCLI.
func DispatchAPIProxy(ctx context.Context, dir string, o Options) (Outcome, error) {
	return dispatch(ctx, dir, o, protocol.RuntimeAPIProxy)
}

// DispatchMCP calls the tool of a turn whose runtime has the type mcp. See DispatchLocalCLI.
func DispatchMCP(ctx context.Context, dir string, o Options) (Outcome, error) {
	return dispatch(ctx, dir, o, protocol.RuntimeMCP)
}

// DispatchRemoteAgent sends a turn whose runtime has the type remote_agent to its service. See DispatchLocalCLI.
func DispatchRemoteAgent(ctx context.Context, dir string, o Options) (Outcome, error) {
	return dispatch(ctx, dir, o, protocol.RuntimeRemoteAgent)
}

// PrintManualDispatchInstructions writes what a person who does the turn has to know, and a template of the result
// next to its path.
func PrintManualDispatchInstructions(ctx context.Context, w io.Writer, dir string, o Options) error {
	e, err := open(dir, o)
	if err != nil {
		return err
	}
	return e.Instructions(ctx, o.external(), w)
}

// WaitForStagedResult waits until somebody has written the turn's result, a time limit expires or ctx ends.
func WaitForStagedResult(ctx context.Context, dir string, o Options) (Outcome, error) {
	e, err := open(dir, o)
	if err != nil {
		return Outcome{}, err
	}
	return outcome(e.AwaitStaged(ctx, o.external()))
}

// ReadStagedResult returns the turn's staged result as it was written. It is an error if there is none.
func ReadStagedResult(ctx context.Context, dir string, o Options) ([]byte, error) {
	e, err := open(dir, o)
	if err != nil {
		return nil, err
	}
	return e.Staged(ctx, o.external())
}

func (o Options) external() orchestrator.External {
	return orchestrator.External{Turn: o.Turn, Timeout: o.Timeout}
}

func open(dir string, o Options) (e orchestrator.Shared, err error) {
	p, err := drawbar.OpenProject(dir, o.Options)
	if err != nil {
		return e, err
	}
	e, ok := p.(orchestrator.Shared)
	if !ok {
		err = fmt.Errorf("the engine of %s does not run in this process", dir)
	}
	return e, err
}

func dispatch(ctx context.Context, dir string, o Options, runtimeType string) (Outcome, error) {
	e, err := open(dir, o)
	if err != nil {
		return Outcome{}, err
	}
	return outcome(e.RunWorker(ctx, o.external(), runtimeType))
}

func outcome(id string, o turnruntime.Outcome, err error) (Outcome, error) {
	return Outcome{TurnID: id, Staged: o.Staged, Class: o.Class, Detail: o.Detail, Hint: o.Hint, ExitCode: o.ExitCode, Transient: o.Transient, RetryAfter: o.RetryAfter,
		Cancelled: o.Cancelled, Cost: o.Cost}, err
}
