package catalog

import (
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/adapter"
)

// action is what is to be done with an agent.
type action string

const (
	actionInstall   action = "install"
	actionUpdate    action = "update"
	actionUninstall action = "uninstall"
)

// managers are the package managers in the order of preference: npm first, because it alone takes a version for every
// agent and is the same on every system.
var managers = []string{"npm", "brew", "winget", "pip", "script"}

// command is what carries an action out; version is empty for what the package manager takes for the newest.
func command(m adapter.InstallMethod, a action, version string) ([]string, error) {
	pkg := strings.Fields(m.Package)
	if m.Type != "script" && len(pkg) == 0 {
		return nil, fmt.Errorf("%s has no package", m.Type)
	}
	unpinned := func(argv ...string) ([]string, error) {
		if version != "" && a != actionUninstall {
			return nil, fmt.Errorf("%s installs what is newest; it takes no version", m.Type)
		}
		return argv, nil
	}
	switch m.Type {
	case "npm":
		if a == actionUninstall {
			return []string{"npm", "uninstall", "-g", m.Package}, nil
		}
		// Without a version npm takes an older release, silently, when the newest wants another Node.
		return []string{"npm", "install", "-g", "--no-fund", "--no-audit", m.Package + "@" + orLatest(version)}, nil
	case "brew":
		verb := map[action]string{actionInstall: "install", actionUpdate: "upgrade", actionUninstall: "uninstall"}[a]
		return unpinned(append([]string{"brew", verb}, pkg...)...)
	case "winget":
		verb := map[action]string{actionInstall: "install", actionUpdate: "upgrade", actionUninstall: "uninstall"}[a]
		argv := append([]string{"winget", verb, "--exact", "--id"}, pkg...)
		if version != "" && a != actionUninstall {
			argv = append(argv, "--version", version)
		}
		return argv, nil
	case "pip":
		switch {
		case a == actionUninstall:
			return []string{"pip", "uninstall", "--yes", m.Package}, nil
		case version != "":
			return []string{"pip", "install", m.Package + "==" + version}, nil
		}
		return []string{"pip", "install", "--upgrade", m.Package}, nil
	case "script":
		if a == actionUninstall {
			return nil, fmt.Errorf("what a script installed has to be removed by hand")
		}
		return unpinned("sh", "-c", m.Command)
	}
	return nil, fmt.Errorf("%s is not done by a command: %s", m.Type, m.Notes)
}

// manager is the program that carries the method out.
func manager(m adapter.InstallMethod) string {
	if m.Type == "script" {
		return "sh"
	}
	return m.Type
}

func orLatest(version string) string {
	if version == "" {
		return "latest"
	}
	return version
}

// typed is a command as a person would type it in a shell.
func typed(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n\"'`$&|;<>()*?[]{}~#!\\") {
			words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
