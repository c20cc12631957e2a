package gemini

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

// plugin runs the command for extensions, which is what Gemini calls plugins. It asks whether a folder is trusted, and takes no
// answer for a no that it does not report, so the trust of this one command is stated.
func plugin(ctx context.Context, h adapter.Host, args ...string) (adapter.SpawnOutcome, error) {
	env := map[string]string{"GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_TRUST_WORKSPACE": "true", "NO_COLOR": "1"}
	return cliagent.PluginCommand(ctx, h, name, "gemini", env, append([]string{"extensions"}, args...)...)
}

// ListPlugins lists the extensions of the user. Gemini prints them on its standard error.
func (Adapter) ListPlugins(ctx context.Context, h adapter.Host) ([]adapter.InstalledPlugin, error) {
	out, err := plugin(ctx, h, "list", "--output-format=json")
	if err != nil {
		return nil, err
	}
	var rows []struct {
		Name        string `json:"name"`
		Version     string `json:"version"`
		Description string `json:"description"`
		Active      bool   `json:"isActive"`
	}
	if err := cliagent.ParsePlugins(name, array(out.Stdout, out.Stderr), &rows); err != nil {
		return nil, err
	}
	list := []adapter.InstalledPlugin{}
	for _, r := range rows {
		list = append(list, adapter.InstalledPlugin{PluginID: r.Name, Name: r.Name, Version: r.Version, Agent: name, Format: adapter.PluginExtension,
			Description: r.Description, Enabled: r.Active})
	}
	return list, nil
}

// array is the JSON array that stands on lines of its own in one of the texts.
func array(texts ...string) string {
	for _, text := range texts {
		lines := strings.Split(text, "\n")
		for i, l := range lines {
			if l == "[]" {
				return l
			}
			if l != "[" {
				continue
			}
			for j := i; j < len(lines); j++ {
				if lines[j] == "]" {
					return strings.Join(lines[i:j+1], "\n")
				}
			}
		}
	}
	return ""
}

// InstallPlugin installs an extension from a folder or the address of a repository.
func (a Adapter) InstallPlugin(ctx context.Context, h adapter.Host, id string, o adapter.PluginOptions) (adapter.InstalledPlugin, error) {
	if err := cliagent.CheckPluginID(id); err != nil {
		return adapter.InstalledPlugin{}, err
	}
	if !o.Consent {
		return adapter.InstalledPlugin{}, execution.Errorf(execution.CodeValidation,
			"gemini wants the consent of a person: an extension is a program of somebody else, with servers, commands and hooks of its own").
			WithHint("look at it first, then give --consent")
	}
	before, err := a.ListPlugins(ctx, h)
	if err != nil {
		return adapter.InstalledPlugin{}, err
	}
	out, err := plugin(ctx, h, "install", id, "--consent", "--skip-settings")
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
