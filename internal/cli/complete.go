package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/internal/runstore"
	"github.com/drawbar/drawbar/internal/settings/config"
	"github.com/drawbar/drawbar/sessions"
	"github.com/drawbar/drawbar/settings"
	"github.com/spf13/cobra"
)

// Completions run at every press of a key: they read files but start nothing, and skip what they cannot read.

// completion returns a completion function that offers no files. Errors mean no completions.
func completion(list func(*cobra.Command, []string) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		names, _ := list(cmd, args)
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteAgents completes agent names for the first argument, or for every argument.
func (a *App) CompleteAgents(every bool) cobra.CompletionFunc {
	return completion(func(_ *cobra.Command, args []string) (names []string, err error) {
		if len(args) > 0 && !every {
			return nil, nil
		}
		entries, err := a.Agents()
		for _, e := range entries {
			if d := e.Descriptor; !slices.Contains(args, d.Name) {
				names = append(names, d.Name+"\t"+d.DisplayName)
			}
		}
		if c, err := a.Client(); err == nil {
			others, _ := c.Adapters().External()
			for _, i := range others {
				if !slices.Contains(args, i.Agent) {
					names = append(names, i.Agent+"\t"+i.DisplayName)
				}
			}
		}
		return names, err
	})
}

// completeModels completes the models of the first argument's agent, or of all agents.
func (a *App) completeModels(_ *cobra.Command, args []string) (names []string, err error) {
	c, err := a.Client()
	if err != nil {
		return nil, err
	}
	entries, err := a.Agents(args[:min(len(args), 1)]...)
	for _, e := range entries {
		models, _ := c.Models().List(e.Descriptor.Name) // other agents may have some
		for _, m := range models {
			names = append(append(names, m.ID), m.Aliases...)
		}
	}
	return names, err
}

// completeProfiles completes the names of profiles.
func (a *App) completeProfiles(_ *cobra.Command, args []string) (names []string, err error) {
	dirs, err := config.FindDirs(a.Dir(), a.Getenv)
	if err != nil || len(args) > 0 {
		return nil, err
	}
	list, err := config.Profiles{Dirs: dirs}.List("")
	for _, p := range list {
		names = append(names, p.Name)
	}
	return names, err
}

// maxCompletions limits the sessions and runs that are offered, newest first.
const maxCompletions = 50

func (a *App) completeSessions(cmd *cobra.Command, _ []string) (names []string, err error) {
	c, err := a.Client()
	if err != nil {
		return nil, err
	}
	s, err := c.Sessions()
	if err != nil {
		return nil, err
	}
	l, err := s.List(cmd.Context(), sessions.Query{Limit: maxCompletions})
	for _, one := range l.Sessions {
		names = append(names, Printable(cmp.Or(one.Name, one.UnifiedID))+"\t"+OneLine(one.Title, 60))
	}
	return names, err
}

// completeRuns completes runs: the live ones, or the newest ones where ended runs have a use.
func (a *App) completeRuns(cmd *cobra.Command, _ []string) (names []string, err error) {
	s, err := a.Store()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	runs, err := s.List(runstore.Filter{Live: cmd.Name() != "logs" && cmd.Name() != "wait", Limit: maxCompletions})
	for _, r := range runs {
		names = append(names, string(r.ID)+"\t"+r.Agent+": "+OneLine(r.Prompt, 60))
	}
	return names, err
}

// Complete sets the completions of all commands below cmd: flags by their names, which mean the same everywhere, and
// arguments by the placeholders in the usage line.
func (a *App) Complete(cmd *cobra.Command) {
	agents, models, profiles, sessions := a.CompleteAgents(true), completion(a.completeModels), completion(a.completeProfiles), completion(a.completeSessions)
	runs := completion(a.completeRuns)
	flags := map[string]cobra.CompletionFunc{
		"agent": agents, "model": models, "profile": profiles, "session": sessions, "fork": sessions, "fallback": agents,
		"scope":  cobra.FixedCompletions([]string{string(settings.Global), string(settings.Project), string(settings.Local)}, cobra.ShellCompDirectiveNoFileComp),
		"format": cobra.FixedCompletions([]string{"json", "jsonl", "markdown"}, cobra.ShellCompDirectiveNoFileComp),
	}
	arguments := map[string]cobra.CompletionFunc{
		"AGENT": a.CompleteAgents(false), "[AGENT]": a.CompleteAgents(false), "AGENT...": agents, "[AGENT...]": agents,
		"SESSION": sessions, "A": sessions, "RUN": runs, "RUN...": runs,
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
			f = profiles
		}
		switch {
		case f == nil:
		case len(words) > 2 && words[1] == "AGENT" && words[2] == "MODEL":
			c.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
				if len(args) == 1 {
					return models(cmd, args, typed)
				}
				return f(cmd, args, typed)
			}
		default:
			c.ValidArgsFunction = f
		}
	}
}
