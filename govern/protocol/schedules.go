package protocol

import "encoding/json"

// Schedule starts runs by itself.
type Schedule struct {
	EveryMinutes int    `json:"every_minutes"`
	Enabled      *bool  `json:"enabled"`      // nil is true
	AutoApprove  *bool  `json:"auto_approve"` // nil is true
	MaxTurns     int    `json:"max_turns"`    // 0 is 50
	InitialRole  string `json:"initial_role"`
	Reason       string `json:"trigger_reason"`
}

// Scheduled decodes the schedules of a configuration that was checked.
func (c *Config) Scheduled() (s Ordered[Schedule]) {
	_ = json.Unmarshal(c.Schedules, &s)
	return s
}
