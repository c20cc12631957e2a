package pi

import (
	"path"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/settings"
)

const pluginFormat = settings.PluginPackage

// plugins are Pi's packages: npm:NAME, git:HOST/PATH, an address, or a folder. A folder is listed relative to Pi's
// settings. Pi has no list as JSON.
var plugins = declared.PluginTable{
	Format: pluginFormat,
	List:   []string{"list", "--no-approve"}, Install: []string{"install"}, Remove: []string{"remove"}, Consent: true, Unnamed: true,
	Update: []string{"update", "--no-approve"}, Version: declared.VersionBehindAt,
	Rows: func(said adapter.SpawnOutcome) (list []settings.Plugin, err error) {
		user := false
		for line := range strings.Lines(said.Stdout) {
			line = strings.TrimRight(line, "\r\n")
			id, listed := strings.CutPrefix(line, "  ")
			switch {
			case !strings.HasPrefix(line, " "):
				user = strings.HasPrefix(line, "User packages")
			case user && listed && !strings.HasPrefix(id, " "):
				name, version := packageName(id)
				list = append(list, settings.Plugin{PluginID: id, Name: name, Version: version, Enabled: true})
			}
		}
		return list, nil
	},
}

// packageName returns the name and the version in a package's source.
func packageName(source string) (name, version string) {
	kind, rest, ok := strings.Cut(source, ":")
	if !ok || kind != "npm" && kind != "git" {
		return path.Base(source), ""
	}
	if i := strings.LastIndex(rest, "@"); i > 0 {
		rest, version = rest[:i], rest[i+1:]
	}
	if kind == "git" {
		rest = path.Base(rest)
	}
	return rest, version
}
