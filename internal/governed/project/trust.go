package project

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance"
	"github.com/drawbar/drawbar/internal/governed/workspace"
	"github.com/drawbar/drawbar/internal/settings/trust"
	"github.com/drawbar/drawbar/internal/settings/unasked"
)

// Items are the programs that agentxchain.json would run on this machine: programs, agents and adapters of runtimes, hooks, gate
// actions, git's pre-commit hook, and the commands that a policy runs again; and the webhooks that it would tell of the run. A person's runtime runs nothing.
func (p *Project) Items() []trust.Item {
	var items []trust.Item
	for id, rt := range p.Config.Runtimes.All() {
		if rt.Type != protocol.RuntimeManual {
			items = append(items, p.runtimeItem(id, rt))
		}
	}
	items = append(items, HookItems(p.Root, protocol.ConfigFile, p.Config.Hooks)...)
	if p.Config.Gates != nil {
		for id, g := range p.Config.Gates.All() {
			for i, a := range g.GateActions {
				place := configfile.Path{"gates", id, "gate_actions", fmt.Sprint(i)}
				items = append(items, p.item(place, p.Root, "shell: "+a.Run, a.Run))
			}
		}
	}
	for _, hook := range p.Config.Notices().Webhooks {
		items = append(items, p.item(configfile.Path{"notifications", "webhooks", hook.Name}, p.Root, describe(hook, "webhook", nil, hook.URL)))
	}
	if command := p.Config.Anchor; len(command) > 0 {
		items = append(items, p.item(configfile.Path{"anchor"}, p.Root, "after each decision: "+strings.Join(command, " "), command...))
	}
	if p.Config.RunsCommitHooks() {
		items = append(items, p.commitHook()...)
	}
	for _, policy := range p.Config.Policies {
		if policy.Rule == governance.RuleReproducible {
			items = append(items, p.item(configfile.Path{"policies", policy.ID}, p.Root, "runs again the commands that a turn gives as its evidence"))
		}
	}
	return items
}

// AgentItems are what the agents of the runtimes run of the project without asking, beside agentxchain.json, and the directory that
// trust in it belongs to.
func (p *Project) AgentItems() (root string, items []trust.Item) {
	root, _ = unasked.Items(nil, p.Root)
	for _, rt := range p.Config.Runtimes.All() {
		agent := rt.Agent
		if words := strings.Fields(strings.Join(rt.Command.List, " ")); agent == "" && len(words) > 0 {
			agent = words[0]
		}
		_, some := unasked.Items(unasked.Of(agent), filepath.Join(p.Root, filepath.FromSlash(rt.CWD)))
		for _, i := range some {
			if !slices.ContainsFunc(items, func(o trust.Item) bool { return trust.Same(i, o) }) {
				items = append(items, i)
			}
		}
	}
	return root, items
}

// HookItems are the hooks of a configuration file at root.
func HookItems(root, file string, all protocol.Ordered[[]protocol.Hook]) (items []trust.Item) {
	for phase, hooks := range all.All() {
		for _, h := range hooks {
			place := configfile.Path{"hooks", phase, h.Name}
			items = append(items, trust.New(root, root, file, place.String(), describe(h, "hook", h.Command, h.URL), named(h.Command, h.Env)...))
		}
	}
	return items
}

// commitHook is git's pre-commit hook.
func (p *Project) commitHook() []trust.Item {
	place := configfile.Path{"checkpoint", "hooks"}
	hook, err := workspace.PreCommit(context.Background(), p.Root)
	if err != nil {
		return []trust.Item{p.item(place, p.Root, "git's pre-commit hook, which cannot be read: "+err.Error())}
	}
	if hook == nil {
		return nil
	}
	sum := sha256.Sum256(hook.Content)
	words := []string{hook.Path}
	if dir := filepath.Dir(hook.Path); filepath.Base(dir) == "_" { // husky: the script that people write is one folder up
		words = append(words, filepath.Join(filepath.Dir(dir), filepath.Base(hook.Path)))
	}
	return []trust.Item{p.item(place, p.Root, "git's pre-commit hook: "+hook.Path+"\nsha256 "+hex.EncodeToString(sum[:]), words...)}
}

// ItemsOf are the items of a runtime (runtimes.ID), of a phase's hooks, of a gate's actions, or of all policies.
func (p *Project) ItemsOf(section, name string) []trust.Item {
	prefix := configfile.Path{section}
	if name != "" {
		prefix = append(prefix, name)
	}
	if section == "runtimes" {
		prefix = p.runtimePlace(name)
	}
	return slices.DeleteFunc(p.Items(), func(i trust.Item) bool { return !covers(prefix.String(), i.Place) })
}

func (p *Project) item(place configfile.Path, dir, runs string, words ...string) trust.Item {
	return trust.New(p.Root, dir, protocol.ConfigFile, place.String(), runs, words...)
}

func (p *Project) runtimeItem(id string, rt protocol.Runtime) trust.Item {
	words := slices.Concat(rt.Command.List, rt.Args)
	text := describe(rt, rt.Type, words, cmp.Or(rt.Agent, rt.URL, strings.TrimSpace(rt.Provider+" "+rt.Model)))
	if rt.Command.String {
		text = describe(rt, rt.Type, nil, strings.Join(words, " "))
	}
	dir := p.Root
	if rt.CWD != "" {
		dir = filepath.Join(p.Root, filepath.FromSlash(rt.CWD))
	}
	return p.item(p.runtimePlace(id), dir, text, named(words, rt.Env)...)
}

// named are the words of a command that may name files of the project. Variables may name files too, and a PATH decides
// where the program is found.
func named(command []string, env protocol.Ordered[string]) []string {
	words := slices.Clone(command)
	for name, value := range env.All() {
		words = append(words, value)
		if name == "PATH" && len(command) > 0 {
			for _, dir := range filepath.SplitList(value) {
				words = append(words, filepath.Join(dir, command[0]))
			}
		}
	}
	return words
}

// runtimePlace is where a runtime is declared: in its role for the first edition.
func (p *Project) runtimePlace(id string) configfile.Path {
	if !p.Declared.Runtimes.Has(id) {
		for role, r := range p.Config.Roles.All() {
			if r.Runtime == id {
				return configfile.Path{"roles", role}
			}
		}
	}
	return configfile.Path{"runtimes", id}
}

// describe lists what runs and every other setting of it.
func describe(v any, kind string, command []string, other string) string {
	text := kind + ": " + trust.Quote(command)
	if len(command) == 0 {
		text = kind + ": " + other
	}
	b, err := protocol.Marshal(v)
	if err != nil {
		return text + "\n" + err.Error()
	}
	var members protocol.Extra
	if err := json.Unmarshal(b, &members); err != nil {
		return text + "\n" + err.Error()
	}
	for key, value := range members.All() {
		if key == "headers" {
			value = masked(value)
		}
		if !slices.Contains([]string{"type", "command", "args", "name", "agent"}, key) {
			text += "\n" + key + " " + string(value)
		}
	}
	return text
}

// masked replaces the secrets in headers by digests.
func masked(headers json.RawMessage) json.RawMessage {
	var all protocol.Ordered[string]
	if json.Unmarshal(headers, &all) != nil {
		return headers
	}
	for name, value := range all.All() {
		all.Set(name, trust.MaskedText(name, value))
	}
	b, err := protocol.Marshal(all)
	if err != nil {
		return headers
	}
	return b
}

// covers reports whether a place is at or below a path.
func covers(path, place string) bool {
	return place == path || strings.HasPrefix(place, path+".")
}

// Written are the items that a user's change at path wrote: those at or below it, new ones, and those that the user had
// trusted before the change. before is nil if there was no valid configuration.
func Written(store trust.Store, before, after *Project, path configfile.Path) ([]trust.Item, error) {
	var had []trust.Item
	if before != nil {
		had = before.Items()
	}
	pending, err := store.Pending(after.Root, had)
	if err != nil {
		return nil, err
	}
	var items []trust.Item
	for _, i := range after.Items() {
		same := func(o trust.Item) bool { return o.Place == i.Place }
		was := slices.ContainsFunc(had, same)
		trusted := was && !slices.ContainsFunc(pending, func(c trust.Change) bool { return same(c.Item) })
		keys, err := configfile.ParsePath(i.Place)
		fresh := err == nil && before != nil && len(keys) == 2 && keys[0] == "runtimes" && !before.Declared.Runtimes.Has(keys[1])
		if trusted || fresh || covers(path.String(), i.Place) {
			items = append(items, i)
		}
	}
	return items, nil
}

// Keys is the path of keys for a dotted path, as Set takes it.
func Keys(root, path string) (configfile.Path, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	data, err := readConfig(root)
	if err != nil {
		return nil, err
	}
	keys, _, _, err := locate(root, data, path)
	return keys, err
}
