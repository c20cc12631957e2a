package config

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// Worktrees is what a new worktree of a run gets besides the files of its commit.
type Worktrees struct {
	Copy  []string `json:"copy,omitempty" jsonschema:"files that git ignores and a worktree gets a copy of, as patterns of git from the top of the repository: .env, **/.env, node_modules"`
	Setup string   `json:"setup,omitempty" jsonschema:"shell command that runs in a new worktree before the agent starts, such as npm ci; a project's needs your trust"`
}

func (w Worktrees) check() error {
	for i, p := range w.Copy {
		clean := path.Clean(filepath.ToSlash(p))
		switch {
		case strings.TrimSpace(p) == "" || strings.ContainsRune(p, 0):
			return fmt.Errorf("worktrees.copy[%d]: %q names no file", i, p)
		case path.IsAbs(clean) || filepath.IsAbs(p) || clean == ".." || strings.HasPrefix(clean, "../"):
			return fmt.Errorf("worktrees.copy[%d]: %q is outside the repository", i, p)
		}
	}
	if strings.ContainsRune(w.Setup, 0) || w.Setup != "" && strings.TrimSpace(w.Setup) == "" {
		return fmt.Errorf("worktrees.setup: %q is not a command", w.Setup)
	}
	return nil
}

// worktrees is the key of Worktrees.
const worktrees = "worktrees"

// Worktrees returns what new worktrees get: files of both the user and the project, and the project's command, or else the user's. fromProject
// says that the command is the project's.
func (c *Config) Worktrees() (w Worktrees, fromProject bool) {
	if v, ok := c.Get(worktrees); ok {
		_ = json.Unmarshal(v.Value, &w) // checked when the files were read
	}
	setup, _ := c.Get(worktrees + ".setup")
	return w, setup.Origin.Scope == ScopeProject
}
