// Package copilot drives GitHub Copilot CLI.
package copilot

import "github.com/drawbar/drawbar/adapter"

// Adapter drives GitHub Copilot CLI. It holds no state of a run and is safe for concurrent use.
type Adapter struct{ adapter.Adapter }

var _ adapter.Unwrapper = Adapter{}

// Unwrap gives the adapter of the kit, which has the optional interfaces of a run.
func (a Adapter) Unwrap() adapter.Adapter { return a.Adapter }
