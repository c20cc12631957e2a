package cli

import (
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/sessions"
	"github.com/spf13/cobra"
)

// Completions run at every press of a key: they read files but start nothing, and skip what they cannot read.

// CompleteAgents completes agent names for the first argument, or for every argument.
func (a *App) CompleteAgents(every bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && !every {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.agentNames(args), cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *App) agentNames(but []string) []string {
	entries, _ := a.Agents() // no completions without a client
	var names []string
	for _, e := range entries {
		if d := e.Descriptor; !slices.Contains(but, d.Name) {
			names = append(names, d.Name+"\t"+d.DisplayName)
		}
	}
	return names
}

// completeModels completes the models of the first argument's agent, or of all agents.
func (a *App) completeModels(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	c, err := a.Client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	entries, err := a.Agents(args[:min(len(args), 1)]...)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, e := range entries {
		models, err := c.Models().List(e.Descriptor.Name)
		if err != nil {
			continue
		}
		for _, m := range models {
			names = append(append(names, m.ID), m.Aliases...)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeProfiles completes the names of profiles.
func (a *App) completeProfiles(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	dirs, err := config.FindDirs(a.Dir(), a.Getenv)
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := config.Profiles{Dirs: dirs}.List("")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, p := range list {
		names = append(names, p.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// maxCompletions limits the sessions that are offered, newest first.
const maxCompletions = 50

func (a *App) completeSessions(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	c, err := a.Client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	s, err := c.Sessions()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	l, err := s.List(cmd.Context(), sessions.Query{Limit: maxCompletions})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, one := range l.Sessions {
		names = append(names, printable(one.UnifiedID)+"\t"+OneLine(one.Title, 60))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// Complete sets the completions of all commands below cmd: flags by their names, which mean the same everywhere, and
// arguments by the placeholders in the usage line.
func (a *App) Complete(cmd *cobra.Command) {
	flags := map[string]cobra.CompletionFunc{
		"agent": a.CompleteAgents(true), "model": a.completeModels, "profile": a.completeProfiles,
		"session": a.completeSessions, "fork": a.completeSessions, "fallback": a.CompleteAgents(true),
		"scope":  cobra.FixedCompletions([]string{string(adapter.ScopeGlobal), string(adapter.ScopeProject), string(adapter.ScopeLocal)}, cobra.ShellCompDirectiveNoFileComp),
		"format": cobra.FixedCompletions([]string{"json", "jsonl", "markdown"}, cobra.ShellCompDirectiveNoFileComp),
	}
	arguments := map[string]cobra.CompletionFunc{
		"AGENT": a.CompleteAgents(false), "[AGENT]": a.CompleteAgents(false), "AGENT...": a.CompleteAgents(true), "[AGENT...]": a.CompleteAgents(true),
		"SESSION": a.completeSessions, "A": a.completeSessions,
	}
	for _, c := range cmd.Commands() {
		a.Complete(c)
		for name, f := range flags {
			if c.LocalFlags().Lookup(name) != nil {
				_ = c.RegisterFlagCompletionFunc(name, f) // fails only for a missing flag
			}
		}
		words := strings.Fields(c.Use)
		if len(words) < 2 || c.ValidArgsFunction != nil {
			continue
		}
		f := arguments[words[1]]
		if words[1] == "NAME" && c.Parent().Name() == "profiles" {
			f = a.completeProfiles
		}
		switch {
		case f == nil:
		case len(words) > 2 && words[1] == "AGENT" && words[2] == "MODEL":
			c.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
				if len(args) == 1 {
					return a.completeModels(cmd, args, typed)
				}
				return f(cmd, args, typed)
			}
		default:
			c.ValidArgsFunction = f
		}
	}
}
