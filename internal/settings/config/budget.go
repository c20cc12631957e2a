package config

import (
	"fmt"
	"math"
	"path/filepath"
)

// Budget limits what runs may cost together, in US dollars. Zero is no limit.
type Budget struct {
	Agent   string  `json:"agent,omitempty" jsonschema:"agent whose runs it is about; default all"`
	Project string  `json:"project,omitempty" jsonschema:"absolute path of the directory whose runs it is about, those in worktrees of its repositories too; default all"`
	Daily   float64 `json:"daily,omitempty" jsonschema:"US dollars from midnight to midnight"`
	Weekly  float64 `json:"weekly,omitempty" jsonschema:"US dollars from Monday on"`
	Monthly float64 `json:"monthly,omitempty" jsonschema:"US dollars from the first day of the month on"`
	Run     float64 `json:"run,omitempty" jsonschema:"limit of a run that states none; default what is left"`
}

// Same reports whether both budgets are about the same runs.
func (b Budget) Same(o Budget) bool { return b.Agent == o.Agent && b.Project == o.Project }

// CheckBudgets refuses budgets that limit nothing, cannot be understood, or are about the same runs.
func CheckBudgets(list []Budget) error {
	for i, b := range list {
		for name, usd := range map[string]float64{"daily": b.Daily, "weekly": b.Weekly, "monthly": b.Monthly, "run": b.Run} {
			if usd < 0 || math.IsInf(usd, 0) || math.IsNaN(usd) {
				return fmt.Errorf("budgets[%d].%s: %g is not a number of dollars", i, name, usd)
			}
		}
		if b.Daily == 0 && b.Weekly == 0 && b.Monthly == 0 {
			return fmt.Errorf("budgets[%d]: it has no daily, weekly or monthly limit", i)
		}
		if b.Project != "" && !filepath.IsAbs(b.Project) {
			return fmt.Errorf("budgets[%d].project: %q is not an absolute path", i, b.Project)
		}
		for j := range i {
			if b.Same(list[j]) {
				return fmt.Errorf("budgets[%d] is about the same runs as budgets[%d]", i, j)
			}
		}
	}
	return nil
}

// Budgets returns what limits runs together, which only the user's file says.
func (c *Config) Budgets() []Budget {
	for _, l := range c.layers {
		if l.scope == ScopeUser {
			return l.file.Budgets
		}
	}
	return nil
}
