package gemini

import (
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/settings"
)

// plugins are Gemini's extensions, from a folder or a repository's URL. The command asks whether a folder is trusted
// and silently takes no answer as a no, so it is declared trusted for this command only. It prints its list to
// standard error.
var plugins = declared.PluginTable{
	Format:  settings.PluginExtension,
	Env:     map[string]string{"GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_TRUST_WORKSPACE": "true", "NO_COLOR": "1"},
	List:    []string{"extensions", "list", "--output-format=json"},
	Install: []string{"extensions", "install"}, Then: []string{"--consent", "--skip-settings"}, Consent: true, Unnamed: true,
	Remove: []string{"extensions", "uninstall"}, Version: declared.VersionAsRef, AtHome: true,
	Update: []string{"extensions", "update"}, Enable: []string{"extensions", "enable"}, Disable: []string{"extensions", "disable"},
	Rows: func(said adapter.SpawnOutcome) (list []settings.Plugin, err error) {
		var rows []struct {
			Name        string `json:"name"`
			Version     string `json:"version"`
			Description string `json:"description"`
			Active      bool   `json:"isActive"`
		}
		err = declared.ParsePlugins(name, array(said.Stdout, said.Stderr), &rows)
		for _, r := range rows {
			list = append(list, settings.Plugin{PluginID: r.Name, Name: r.Name, Version: r.Version, Description: r.Description,
				Enabled: r.Active})
		}
		return list, err
	},
}

// array returns the JSON array on lines of its own in one of the texts.
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
