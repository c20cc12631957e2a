package mcpclient

import (
	"context"
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/mcpwire"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/lookpath"
	"github.com/drawbar/drawbar/transport/process"
)

// program is a server that is a program. A nil program is none.
type program struct{ *mcpwire.Program }

// start starts a server's program.
func start(o Options, m execution.MCPServer) (*program, error) {
	env := o.Env
	for name, value := range m.Env {
		env = append(env[:len(env):len(env)], name+"="+value)
	}
	path, err := lookpath.In(env, o.Dir, m.Command)
	if err != nil {
		return nil, err
	}
	// Its life is ended by stop: the context of the connection ends earlier.
	handle, err := o.Start(context.Background(), process.Spec{Path: path, Args: m.Args, Dir: o.Dir, Env: env, KeepStdin: true, MaxLine: maxLine, Grace: o.Grace})
	if err != nil {
		return nil, err
	}
	return &program{mcpwire.NewProgram(handle, nil, nil)}, nil
}

// stop ends the program and waits for its end.
func (p *program) stop() {
	if p != nil {
		p.End(0, 0)
	}
}

// complaint returns what the program said on standard error, if it has ended.
func (p *program) complaint() string {
	if p == nil {
		return ""
	}
	exit, _, ended := p.Ended()
	if !ended {
		return ""
	}
	why := strings.TrimSpace(exit.StderrTail)
	if err := exit.Err; err != nil && why == "" {
		why = err.Error()
	}
	if why == "" {
		why = fmt.Sprintf("exit code %d", exit.Code)
	}
	return ": the program ended: " + strings.ToValidUTF8(why, "\uFFFD")
}
