package run

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/worktree"
	"github.com/drawbar/drawbar/sessions"
)

// Facts are what a person can ask about a conversation. It is safe for concurrent use.
type Facts struct {
	Agent string
	Dir   string // working directory

	mu     sync.Mutex
	model  string
	tokens execution.TokenUsage
	usd    float64
	priced bool
	turn   bool // one is running
}

// Add notes an event of the agent itself.
func (f *Facts) Add(b execution.Body) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch b := b.(type) {
	case execution.SessionStart:
		f.model = b.Model
	case execution.TurnStart:
		f.turn = true
	case execution.TurnEnd:
		f.turn = false
	case execution.TokenUsage:
		f.tokens.InputTokens += b.InputTokens + b.CachedTokens + b.CacheWriteTokens
		f.tokens.OutputTokens += b.OutputTokens
	case execution.CostEvent:
		if b.Cost.TotalUSD != nil {
			f.usd, f.priced = f.usd+*b.Cost.TotalUSD, true
		}
	}
}

// Working reports whether a turn is running.
func (f *Facts) Working() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.turn
}

// Idle asks for the next message if no turn is running.
func (f *Facts) Idle(app *cli.App) {
	if !f.Working() && cli.IsTerminal(app.In) && !app.JSON {
		app.Prompt()
	}
}

// Show answers /model, /cost, /diff and /sessions.
func (f *Facts) Show(ctx context.Context, app *cli.App, command string) {
	f.mu.Lock()
	model, tokens, usd, priced := f.model, f.tokens, f.usd, f.priced
	f.mu.Unlock()
	switch command {
	case "/model":
		if model == "" {
			model = "the agent's default; it has not named it"
		}
		app.Notef("  model %s", model)
		app.Notef("  another model: /quit, then: drawbar run %s/MODEL --continue -i", f.Agent)
	case "/cost":
		money := "price unknown"
		if priced {
			money = fmt.Sprintf("$%.4f", usd)
		}
		app.Notef("  %s; %s in, %s out so far", money, cli.Count(tokens.InputTokens), cli.Count(tokens.OutputTokens))
	case "/diff":
		text, err := worktree.Changed(ctx, f.Dir)
		switch {
		case err != nil:
			app.Notef("  %v", err)
		case text == "":
			app.Notef("  nothing has changed")
		default:
			showDiff(app, text)
		}
	case "/sessions":
		if err := f.sessions(ctx, app); err != nil {
			app.Notef("  %v", err)
		}
	}
}

// maxDiff is how many lines of a difference are shown.
const maxDiff = 200

func showDiff(app *cli.App, text string) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		if i == maxDiff {
			app.Notef("  %d more lines: git diff HEAD", len(lines)-maxDiff)
			return
		}
		app.Notef("%s", cli.DiffLine(line, 0, app.Color(app.Err)))
	}
}

func (f *Facts) sessions(ctx context.Context, app *cli.App) error {
	client, err := app.Client()
	if err != nil {
		return err
	}
	all, err := client.Sessions()
	if err != nil {
		return err
	}
	const newest = 5
	list, err := all.List(ctx, sessions.Query{Agent: f.Agent, Cwd: f.Dir, Current: true, Limit: newest})
	if err != nil {
		return err
	}
	for _, s := range list.Sessions {
		app.Notef("  %s  %s ago  %s", s.UnifiedID, cli.Age(time.Since(s.UpdatedAt)), cli.OneLine(s.Title, 60))
	}
	if len(list.Sessions) == 0 {
		app.Notef("  no sessions")
	}
	return nil
}
