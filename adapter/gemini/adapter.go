package gemini

import (
	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/cliagent"
)

// Adapter drives Gemini CLI. It holds no state of a run and is safe for concurrent use.
type Adapter struct{ adapter.Adapter }

var (
	_ adapter.Prober          = Adapter{}
	_ adapter.AuthGuide       = Adapter{}
	_ adapter.ModelRedirector = Adapter{}
	_ adapter.Unwrapper       = Adapter{}
)

// New makes the adapter; the zero options are those of a normal program.
func New(opts cliagent.Options) Adapter {
	return Adapter{cliagent.New(cliagent.Spec{
		Name:         name,
		Command:      "gemini",
		InstallHint:  "install it with: " + install,
		Capabilities: capabilities,
		Spawn:        spawn,
		NewParser:    newParser,
		Negotiate:    negotiate,
		HostSignals:  hostSignals,
		Keys:         keys,
	}, opts)}
}

// Unwrap gives the adapter of the kit, which has the optional interfaces of a run.
func (a Adapter) Unwrap() adapter.Adapter { return a.Adapter }
