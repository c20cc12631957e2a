package protocol

import "encoding/json"

// Notifications are the notifications of agentxchain.json.
type Notifications struct {
	Webhooks []Webhook   `json:"webhooks,omitempty"`
	SLA      ApprovalSLA `json:"approval_sla"`
}

// ApprovalSLA says when webhooks are reminded of an approval that nobody has given.
type ApprovalSLA struct {
	Enabled *bool   `json:"enabled,omitempty"` // nil is true
	After   []int64 `json:"reminder_after_seconds,omitempty"`
}

// Webhook is an address that is told of some events.
type Webhook struct {
	Name      string          `json:"name"`
	URL       string          `json:"url"`
	Events    []string        `json:"events"`
	TimeoutMS int             `json:"timeout_ms,omitempty"`
	Headers   Ordered[string] `json:"headers,omitzero"`
	Env       Ordered[string] `json:"env,omitzero"`
}

// Notices decodes the notifications of a configuration that was checked.
func (c *Config) Notices() (n Notifications) {
	_ = json.Unmarshal(c.Notifications, &n)
	return n
}
