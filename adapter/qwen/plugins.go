package qwen

import (
	"context"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
)

var (
	_ adapter.NativeHooks   = Adapter{}
	_ adapter.SkillKeeper   = Adapter{}
	_ adapter.PluginManager = Adapter{}
)

// plugin runs the command for extensions, which is what Qwen calls plugins.
func plugin(ctx context.Context, h adapter.Host, args ...string) (adapter.SpawnOutcome, error) {
	return cliagent.PluginCommand(ctx, h, name, "qwen", map[string]string{"QWEN_CODE_NO_RELAUNCH": "true", "NO_COLOR": "1"}, append([]string{"extensions"}, args...)...)
}

// ListPlugins lists the extensions of the user. Qwen prints them for people only: a line with a mark, the name and the version in
// brackets, and lines with a space in front that say more.
func (Adapter) ListPlugins(ctx context.Context, h adapter.Host) ([]adapter.InstalledPlugin, error) {
	out, err := plugin(ctx, h, "list")
	if err != nil {
		return nil, err
	}
	return parseExtensions(out.Stdout), nil
}

func parseExtensions(text string) []adapter.InstalledPlugin {
	list := []adapter.InstalledPlugin{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if detail, ok := strings.CutPrefix(line, " "); ok {
			key, value, _ := strings.Cut(strings.TrimSpace(detail), ": ")
			if len(list) > 0 && key == "Description" {
				list[len(list)-1].Description = value
			}
			if len(list) > 0 && key == "Enabled (User)" {
				list[len(list)-1].Enabled = value == "true"
			}
			continue
		}
		_, rest, ok := strings.Cut(line, " ")
		at := strings.LastIndex(rest, " (")
		if !ok || at < 1 || !strings.HasSuffix(rest, ")") {
			continue
		}
		id := rest[:at]
		list = append(list, adapter.InstalledPlugin{PluginID: id, Name: id, Version: rest[at+2 : len(rest)-1], Agent: name, Format: adapter.PluginExtension})
	}
	return list
}

// InstallPlugin installs an extension from a folder, an archive, the address of a repository, or an npm package.
func (a Adapter) InstallPlugin(ctx context.Context, h adapter.Host, id string, o adapter.PluginOptions) (adapter.InstalledPlugin, error) {
	if err := cliagent.CheckPluginID(id); err != nil {
		return adapter.InstalledPlugin{}, err
	}
	if !o.Consent {
		return adapter.InstalledPlugin{}, execution.Errorf(execution.CodeValidation,
			"qwen wants the consent of a person: an extension is a program of somebody else, with servers, commands and hooks of its own").
			WithHint("look at it first, then give --consent")
	}
	before, err := a.ListPlugins(ctx, h)
	if err != nil {
		return adapter.InstalledPlugin{}, err
	}
	out, err := plugin(ctx, h, "install", id, "--consent")
	if err != nil {
		return adapter.InstalledPlugin{}, err
	}
	after, err := a.ListPlugins(ctx, h)
	if err != nil {
		return adapter.InstalledPlugin{}, err
	}
	for _, p := range after { // a place says nothing of the name
		if _, had := cliagent.FindPlugin(before, p.PluginID); !had {
			return p, nil
		}
	}
	return adapter.InstalledPlugin{}, cliagent.Missing(name, id, out)
}

// UninstallPlugin removes an extension.
func (Adapter) UninstallPlugin(ctx context.Context, h adapter.Host, id string) error {
	if err := cliagent.CheckPluginID(id); err != nil {
		return err
	}
	_, err := plugin(ctx, h, "uninstall", id)
	return err
}
