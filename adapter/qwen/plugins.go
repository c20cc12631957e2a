package qwen

import (
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/settings"
)

// plugins are Qwen's extensions, from a folder, an archive, the URL of a repository, or an npm package.
var plugins = declared.PluginTable{
	Format:  settings.PluginExtension,
	Env:     map[string]string{"QWEN_CODE_NO_RELAUNCH": "true", "NO_COLOR": "1"},
	List:    []string{"extensions", "list"},
	Install: []string{"extensions", "install"}, Then: []string{"--consent"}, Consent: true, Unnamed: true,
	Remove: []string{"extensions", "uninstall"}, Version: declared.VersionAsRef,
	Update: []string{"extensions", "update"}, Enable: []string{"extensions", "enable"}, Disable: []string{"extensions", "disable"},
	Rows: func(said adapter.SpawnOutcome) ([]settings.Plugin, error) {
		return parseExtensions(said.Stdout), nil
	},
}

// parseExtensions parses output meant for people: a line with a mark, the name and the version in brackets, then
// indented lines with details.
func parseExtensions(text string) []settings.Plugin {
	list := []settings.Plugin{}
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
		list = append(list, settings.Plugin{PluginID: id, Name: id, Version: rest[at+2 : len(rest)-1]})
	}
	return list
}
