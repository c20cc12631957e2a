package cliagent

import (
	"cmp"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// otherHosts are the variables by which agents without an adapter tell their children where they run; the others are declared by
// the adapters. An agent that finds the marker of another one, or of its own parent, takes itself for a sub-agent and behaves
// differently. A variable that carries a login, a home directory or a setting a person made is never a marker, whatever its name
// begins with.
var otherHosts = []string{
	"AI_AGENT", "AGENT", "AGENT_SESSION_ID",
	"CURSOR_AGENT_SESSION", "CURSOR_SESSION",
	"OPENCODE", "OPENCODE_PID", "OPENCODE_SESSION_ID",
	"PI_CODING_AGENT", "PI_RUN_ID", "PI_SESSION_FILE", "PI_SESSION_ID",
	"OMPCODE", "OMP_RUN_ID", "OMP_SESSION_ID",
	"OPENCLAW_CLI", "OPENCLAW_RUN_ID", "OPENCLAW_SESSION", "OPENCLAW_SHELL",
	"HERMES_RUN_ID", "HERMES_SESSION",
}

// allowed are the variables of a minimal environment: what a program needs to find its files, its network and its
// language.
var allowed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
}

var allowedPrefixes = []string{"LC_", "XDG_", "SSL_CERT_"}

// allowedWindows are the variables without which programs do not start on Windows. Names are upper case there.
var allowedWindows = []string{
	"ALLUSERSPROFILE", "APPDATA", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432", "COMPUTERNAME",
	"COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS", "PATHEXT", "PROCESSOR_ARCHITECTURE",
	"PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "PUBLIC", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP",
	"TMP", "USERDOMAIN", "USERNAME", "USERPROFILE", "WINDIR",
}

// environment is the complete environment of a run: what is inherited, then what the adapter sets, then what the
// request sets. The order is sorted by name.
func (s *Spec) environment(inherited []string, inv Invocation, run execution.RunOptions, goos string) environ {
	e := environ{goos: cmp.Or(goos, runtime.GOOS), vars: map[string]variable{}}
	keys, markers := map[string]bool{}, map[string]bool{}
	for _, k := range s.Keys {
		keys[e.key(k)] = true
	}
	for _, m := range slices.Concat(adapter.HostMarkers(), otherHosts, s.HostSignals) {
		markers[e.key(m)] = true
	}
	for _, entry := range inherited {
		// Windows has entries that begin with "=", one per drive; they are no variables of anybody.
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" {
			continue
		}
		k := e.key(name)
		keep := keys[k]
		if run.Environment == execution.EnvironmentMinimal {
			keep = keep || e.allowed(k)
		} else {
			keep = keep || !markers[k]
		}
		if keep {
			e.vars[k] = variable{name, value}
		}
	}
	for name, value := range inv.Env {
		if value == "" {
			delete(e.vars, e.key(name))
			continue
		}
		e.set(name, value)
	}
	for name, value := range run.Env {
		e.set(name, value)
	}
	for name, value := range inv.EnvLists {
		if list := e.get(name); list != "" {
			value = list + "," + value
		}
		e.set(name, value)
	}
	return e
}

// environ is an environment in the making. Names are compared as the platform compares them.
type environ struct {
	goos string
	vars map[string]variable
}

type variable struct{ name, value string }

func (e environ) key(name string) string {
	if e.goos == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

func (e environ) allowed(key string) bool {
	return slices.Contains(allowed, key) || e.goos == "windows" && slices.Contains(allowedWindows, key) ||
		slices.ContainsFunc(allowedPrefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}

func (e environ) set(name, value string) { e.vars[e.key(name)] = variable{name, value} }

func (e environ) get(name string) string { return e.vars[e.key(name)].value }

func (e environ) list() []string {
	list := make([]string, 0, len(e.vars))
	for _, k := range slices.Sorted(maps.Keys(e.vars)) {
		v := e.vars[k]
		list = append(list, v.name+"="+v.value)
	}
	return list
}

// bypassProxy keeps a server of this host out of the hands of a proxy that the environment names.
func (e environ) bypassProxy(host string) {
	proxied := false
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
		proxied = proxied || e.get(name) != ""
	}
	if !proxied {
		return
	}
	// Programs differ in which of the two spellings they read, and in which one wins.
	list := cmp.Or(e.get("no_proxy"), e.get("NO_PROXY"))
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		value := cmp.Or(e.get(name), list)
		switch {
		case value == "*" || slices.Contains(strings.Split(strings.ReplaceAll(value, " ", ""), ","), host):
		case value == "":
			value = host
		default:
			value += "," + host
		}
		e.set(name, value)
	}
}
