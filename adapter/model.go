package adapter

import (
	"context"

	"github.com/drawbar/drawbar/execution"
)

// ModelLister is an agent whose own program lists the models that it offers this user on this machine.
type ModelLister interface {
	// ListModels asks the program, through the host, and waits for it. No model is called, and no project's settings
	// are read. Facts that the program does not state are unknown. An empty list is an error: the program's format
	// may have changed.
	ListModels(ctx context.Context, h Host) ([]execution.Model, error)
}

// ServiceUser is an agent that works over other agents that are services.
type ServiceUser interface {
	// UseServices returns the agent over these services, besides those that it uses already. It passes over what it cannot use.
	UseServices(services []Adapter) Adapter
}
