package cli

import (
	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/execution"
)

// Possible reports what keeps an agent from running a request; nothing is started.
func (a *App) Possible(req execution.Request) error {
	client, err := a.Client()
	if err != nil {
		return err
	}
	n, err := client.Negotiate(req, drawbar.RunOptions{})
	if err != nil {
		return err
	}
	for _, why := range n.Reasons {
		if why.Severity == execution.SeverityBlocking {
			return execution.Errorf(execution.CodeCapability, "%s", why.Message)
		}
	}
	return nil
}
