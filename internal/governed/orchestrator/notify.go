package orchestrator

import (
	"context"
	"errors"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/internal/governed/notice"
	"github.com/drawbar/drawbar/internal/governed/project"
)

// Notify implements govern.Engine.
func (e *Local) Notify(ctx context.Context) (govern.Notified, error) {
	p, err := project.Load(e.root)
	if err != nil {
		return govern.Notified{}, err
	}
	if len(p.Config.Notices().Webhooks) == 0 {
		return govern.Notified{}, execution.Errorf(execution.CodeConfig, "agentxchain.json has no notifications.webhooks").
			WithHint("drawbar govern config set notifications.webhooks '[{\"name\":\"team\",\"url\":\"https://...\",\"events\":[\"run_blocked\"]}]'")
	}
	if err := e.trusted(p.ItemsOf("notifications", "")); err != nil {
		return govern.Notified{}, err
	}
	tries, left, err := e.sender(p).Send(ctx)
	out := govern.Notified{Left: left}
	for _, t := range tries {
		out.Tries = append(out.Tries, govern.NotifyTry{EventID: t.EventID, EventType: t.EventType, Webhook: t.Webhook, Attempt: t.Attempt, Delivered: t.Delivered, Error: t.Error})
	}
	return out, err
}

func (e *Local) sender(p *project.Project) notice.Sender {
	return notice.Sender{Root: e.root, Config: p.Config, Environ: e.o.Environ, Now: e.o.Now}
}

// tellWebhooks tells of what was written to the record. What fails is tried again after a later command, and by Notify.
func (e *Local) tellWebhooks(ctx context.Context, p *project.Project) {
	if len(p.Config.Notices().Webhooks) == 0 {
		return
	}
	err := e.trusted(p.ItemsOf("notifications", ""))
	if err == nil {
		var tries []notice.Try
		tries, _, err = e.sender(p).Send(context.WithoutCancel(ctx)) // a run that was interrupted waits for somebody
		for _, t := range tries {
			if !t.Delivered {
				err = errors.Join(err, errors.New(t.Webhook+": "+t.Error))
			}
		}
	}
	if err != nil {
		e.warn("webhooks were not told: " + err.Error())
	}
}
