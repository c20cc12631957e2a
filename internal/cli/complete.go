package cli

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
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
	runs, err := s.List(runstore.Filter{Live: !slices.Contains([]string{"logs", "wait", "adopt", "merge", "diff"}, cmd.Name()), Limit: maxCompletions})
	for _, r := range runs {
		names = append(names, string(r.ID)+"\t"+r.Agent+": "+OneLine(r.Prompt, 60))
	}
	return names, err
}

// completeRacers completes the agents of --race, which are separated by commas.
func (a *App) completeRacers(_ *cobra.Command, _ []string, typed string) (names []string, _ cobra.ShellCompDirective) {
	before := typed[:strings.LastIndex(typed, ",")+1]
	entries, _ := a.Agents() // completions have nowhere to report an error
	for _, e := range entries {
		names = append(names, before+e.Descriptor.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeConfig completes what "config get" and its neighbours take: keys of Drawbar's own configuration and the words of their values,
// or an agent and its fields.
func (a *App) completeConfig(cmd *cobra.Command, args []string) (names []string, err error) {
	own := cmd.Name() == "get" || cmd.Name() == "set" || cmd.Name() == "unset"
	if len(args) == 0 {
		names, _ = a.CompleteAgents(false)(cmd, args, "")
		if own {
			names = append(names, config.Keys()...)
		}
		return names, nil
	}
	if !own {
		return nil, nil
	}
	if config.Known(args[0]) {
		if o, ok := execution.OptionNamed(args[0]); ok && len(args) == 1 && cmd.Name() == "set" {
			return o.Words(), nil
		}
		return nil, nil
	}
	c, err := a.Client()
	if err != nil {
		return nil, err
	}
	schema, err := c.Config().Schema(args[0])
	for _, f := range schema.Fields {
		switch {
		case len(args) == 1:
			names = append(names, f.Path+"\t"+OneLine(f.Description, 60))
		case len(args) == 2 && cmd.Name() == "set" && f.Path == args[1]:
			names = append(names, f.Enum...)
		}
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
		"race":   a.completeRacers,
		"cwd":    cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
	}
	for o := range execution.Options() {
		if words := o.Words(); o.Flag != "" && len(words) > 0 {
			flags[o.Flag] = cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
		}
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
		switch c.Parent().Name() {
		case "profiles":
			if words[1] == "NAME" {
				f = profiles
			}
		case "config":
			f = completion(a.completeConfig)
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

// withoutPackage replaces what cobra's script needs of the package bash-completion, where that is not installed: the words of the line,
// joined again at the characters that only readline splits at.
const withoutPackage = `
# Without the package bash-completion:
if ! declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
__PROGRAM_init_completion()
{
    local i word
    COMPREPLY=() words=() cword=-1
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((cword >= 0)) && [[ ${word} == [=:]* || ${words[cword]} == *[=:] ]]; then
            words[cword]+=${word}
        else
            words[++cword]=${word}
        fi
    done
    cur=${words[cword]}
}
_filedir()
{
    local kind=file name
    [[ ${1-} == -d ]] && kind=directory
    while IFS= read -r name; do COMPREPLY+=("${name}"); done < <(compgen -A "${kind}" -- "${cur}")
    compopt -o filenames
}
fi
`

// BashCompletion writes the completion of a program's commands for bash.
func BashCompletion(root *cobra.Command, w io.Writer, descriptions bool) error {
	if err := root.GenBashCompletionV2(w, descriptions); err != nil {
		return err
	}
	_, err := io.WriteString(w, strings.ReplaceAll(withoutPackage, "PROGRAM", root.Name()))
	return err
}
