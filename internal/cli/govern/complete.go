package govern

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/cli/govern/view"
	"github.com/drawbar/drawbar/internal/governed/ledger"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/spf13/cobra"
)

// Completions read existing files and start nothing. What cannot be read is omitted.

// completions adds completions to the commands below cmd, by the names of their flags and arguments.
func completions(app *cli.App, cmd *cobra.Command) {
	of := func(list func(*project.Project, *ledger.View) []string) cobra.CompletionFunc {
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			root, err := view.Root(app)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			p, err := project.Load(root)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			v, err := ledger.Read(root)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return list(p, v), cobra.ShellCompDirectiveNoFileComp
		}
	}
	fixed := func(words ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	active, accepted := of(activeTurns), of(acceptedTurns)
	flags := map[string]cobra.CompletionFunc{
		"role": of(roles), "turn": active, "run": of(runs),
		"type": fixed(protocol.EventTypes()...), "template": templates, "resolution": fixed("human_merge"),
		"dev-prompt-transport": fixed(protocol.TransportArgv, protocol.TransportStdin, protocol.TransportBundleOnly),
	}
	arguments := map[string]cobra.CompletionFunc{
		"[TURN]": of(func(p *project.Project, v *ledger.View) []string {
			return append(activeTurns(p, v), acceptedTurns(p, v)...)
		}),
		"[GATE]": of(gates), "[ESCALATION]": of(escalations), "[KEY]": of(keys), "KEY": of(keys),
	}
	for _, c := range below(cmd) {
		for name, f := range flags {
			if name == "turn" && c.Name() == "checkpoint" {
				f = accepted
			}
			if c.Flags().Lookup(name) != nil {
				_ = c.RegisterFlagCompletionFunc(name, f) // the command has the flag
			}
		}
		if words := strings.Fields(c.Use); len(words) > 1 && c.ValidArgs == nil && c.ValidArgsFunction == nil && arguments[words[1]] != nil {
			c.ValidArgsFunction = first(arguments[words[1]])
		}
	}
}

// below are all commands below cmd.
func below(cmd *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, c := range cmd.Commands() {
		all = append(append(all, c), below(c)...)
	}
	return all
}

// first completes the first argument only.
func first(f cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f(cmd, args, typed)
	}
}

func templates(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, t := range project.Templates() {
		names = append(names, t.ID)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func roles(p *project.Project, _ *ledger.View) []string {
	var names []string
	for id, r := range p.Config.Roles.All() {
		names = append(names, id+"\t"+r.Title)
	}
	return names
}

func activeTurns(_ *project.Project, v *ledger.View) []string {
	var names []string
	for id, t := range v.State.ActiveTurns.All() {
		names = append(names, id+"\t"+t.AssignedRole+", "+string(t.Status))
	}
	return names
}

// most bounds how many turns and runs are offered: the latest.
const most = 50

func acceptedTurns(_ *project.Project, v *ledger.View) []string {
	entries, err := v.History("")
	if err != nil {
		return nil
	}
	var names []string
	for _, h := range slices.Backward(entries) {
		if len(names) == most {
			break
		}
		names = append(names, h.TurnID+"\t"+h.Role+", "+strings.Join(strings.Fields(h.Summary), " "))
	}
	return names
}

func runs(_ *project.Project, v *ledger.View) []string {
	var names []string
	if id := v.State.ID(); id != "" {
		names = append(names, id+"\t"+string(v.State.Status))
	}
	list, err := v.Runs()
	if err != nil {
		return names
	}
	for _, r := range slices.Backward(list) {
		if len(names) == most {
			break
		}
		if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, r.RunID+"\t") }) {
			names = append(names, r.RunID+"\t"+string(r.Status))
		}
	}
	return names
}

func gates(p *project.Project, _ *ledger.View) []string {
	if p.Config.Gates == nil {
		return nil
	}
	return p.Config.Gates.Keys()
}

// escalations are the open entries of the human queue.
func escalations(_ *project.Project, v *ledger.View) []string {
	lines, err := v.Human()
	if err != nil {
		return nil
	}
	open := protocol.Ordered[string]{}
	for _, l := range lines {
		var e struct {
			ID     string `json:"escalation_id"`
			Kind   string `json:"kind"`
			Action string `json:"action"`
		}
		switch {
		case json.Unmarshal(l, &e) != nil || e.ID == "":
		case e.Kind == "resolved":
			open.Delete(e.ID)
		default:
			open.Set(e.ID, e.Action)
		}
	}
	var names []string
	for id, action := range open.All() {
		names = append(names, id+"\t"+strings.Join(strings.Fields(action), " "))
	}
	return names
}

// keys are the first two parts of the configuration's keys.
func keys(p *project.Project, _ *ledger.View) []string {
	var whole protocol.Ordered[json.RawMessage]
	if json.Unmarshal(p.Raw, &whole) != nil {
		return nil
	}
	var names []string
	for key, raw := range whole.All() {
		names = append(names, key)
		var part protocol.Ordered[json.RawMessage]
		if protocol.Kind(raw) == "object" && json.Unmarshal(raw, &part) == nil {
			for _, k := range part.Keys() {
				names = append(names, key+"."+k)
			}
		}
	}
	return names
}
