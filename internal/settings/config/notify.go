package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Notify is who is told of a run, how, and about what. The zero value tells nobody.
type Notify struct {
	On      []string `json:"on,omitempty" jsonschema:"events to notify about: waiting, failed, finished, budget; default all"`
	AfterMs *int64   `json:"after,omitempty" jsonschema:"shortest wait of a question and shortest run that are told, in milliseconds; default 10000"`
	Bell    bool     `json:"bell,omitempty" jsonschema:"ring the terminal's bell"`
	Desktop bool     `json:"desktop,omitempty" jsonschema:"show a notification on the desktop, with notify-send or osascript"`
	Command []string `json:"command,omitempty" jsonschema:"program and arguments to run, with the notification as JSON on standard input"`
	Webhook string   `json:"webhook,omitempty" jsonschema:"http or https address that the notification is posted to as JSON"`
}

// What can be told of a run.
const (
	NotifyWaiting  = "waiting"  // a question is not answered
	NotifyFailed   = "failed"   // the run ended otherwise than completed
	NotifyFinished = "finished" // the run completed
	NotifyBudget   = "budget"   // the run's budget is used up
)

var notices = []string{NotifyWaiting, NotifyFailed, NotifyFinished, NotifyBudget}

// Wants reports whether something is told.
func (n *Notify) Wants(what string) bool { return len(n.On) == 0 || slices.Contains(n.On, what) }

// Any reports whether somebody is told of anything.
func (n *Notify) Any() bool { return n.Bell || n.Desktop || len(n.Command) > 0 || n.Webhook != "" }

func (n *Notify) check() error {
	for i, what := range n.On {
		if !slices.Contains(notices, what) {
			return fmt.Errorf("notify.on[%d]: %q is not one of %s", i, what, strings.Join(notices, ", "))
		}
	}
	if n.AfterMs != nil && *n.AfterMs < 0 {
		return fmt.Errorf("notify.after: %d is negative", *n.AfterMs)
	}
	if len(n.Command) > 0 && strings.TrimSpace(n.Command[0]) == "" {
		return fmt.Errorf("notify.command: it names no program")
	}
	if u, err := url.Parse(n.Webhook); n.Webhook != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return fmt.Errorf("notify.webhook: it is not an http or https address")
	}
	return nil
}

// Notify returns who is told of runs, which only the user's file says.
func (c *Config) Notify() Notify {
	for _, l := range c.layers {
		if l.scope == ScopeUser && l.file.Notify != nil {
			return *l.file.Notify
		}
	}
	return Notify{}
}
