package cli

import (
	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/execution"
)

// Possible reports what keeps an agent from running a request; nothing is started. What one cannot do is left to its fallbacks, if it has any,
// which must be agents.
func (a *App) Possible(req execution.Request, fallback ...string) error {
	client, err := a.Client()
	if err != nil {
		return err
	}
	for _, name := range fallback {
		if _, err := client.Adapters().Get(name); err != nil {
			return err
		}
	}
	n, err := client.Negotiate(req, drawbar.RunOptions{})
	if err != nil {
		return err
	}
	for _, why := range n.Reasons {
		if why.Severity == execution.SeverityBlocking && len(fallback) == 0 {
			return execution.Errorf(execution.CodeCapability, "%s", why.Message)
		}
	}
	return nil
}
