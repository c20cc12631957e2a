package catalog

import (
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/adapter"
)

// action is what to do with an agent.
type action string

const (
	actionInstall   action = "install"
	actionUpdate    action = "update"
	actionUninstall action = "uninstall"
)

// managers are the package managers in order of preference: npm first, because only npm accepts a version for
// every agent and is the same on every system.
var managers = []string{"npm", "brew", "winget", "pip", "script"}

// command returns the command of an action; an empty version means the package manager's newest.
func command(m adapter.InstallMethod, a action, version string) ([]string, error) {
	pkg := strings.Fields(m.Package)
	if m.Type != "script" && len(pkg) == 0 {
		return nil, fmt.Errorf("%s has no package", m.Type)
	}
	unpinned := func(argv ...string) ([]string, error) {
		if version != "" && a != actionUninstall {
			return nil, fmt.Errorf("%s installs the newest version; it does not accept a version", m.Type)
		}
		return argv, nil
	}
	switch m.Type {
	case "npm":
		if a == actionUninstall {
			return []string{"npm", "uninstall", "-g", m.Package}, nil
		}
		// Without a version npm silently installs an older release if the newest needs another Node.
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
			return nil, fmt.Errorf("remove what the script installed by hand")
		}
		return unpinned("sh", "-c", m.Command)
	}
	return nil, fmt.Errorf("%s does not use a command: %s", m.Type, m.Notes)
}

// manager returns the program that runs the method.
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

// typed returns a command as a person would type it in a shell.
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
