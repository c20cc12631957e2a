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

// otherHosts are the markers that agents without an adapter set for their child processes; the adapters declare the
// others. An agent that finds another agent's marker, or its own, behaves like a sub-agent. A variable with a login,
// a home directory or a user's setting is never a marker, whatever its prefix.
var otherHosts = []string{
	"AI_AGENT", "AGENT", "AGENT_SESSION_ID",
}

// allowed are the variables of a minimal environment: what a program needs to find files, the network and its
// language.
var allowed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
}

var allowedPrefixes = []string{"LC_", "XDG_", "SSL_CERT_"}

// allowedWindows are the variables that programs need to start on Windows. Names are upper case.
var allowedWindows = []string{
	"ALLUSERSPROFILE", "APPDATA", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432", "COMPUTERNAME",
	"COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS", "PATHEXT", "PROCESSOR_ARCHITECTURE",
	"PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "PUBLIC", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP",
	"TMP", "USERDOMAIN", "USERNAME", "USERPROFILE", "WINDIR",
}

// environment returns the complete environment of a run: the inherited one, then the adapter's variables, then the
// request's, then those of the adapter that contain the request's. It is sorted by name.
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
		// Windows has entries that start with "=", one per drive; they are not variables.
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
	for name, value := range inv.EnvOver {
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

// Environ returns the environment of a program that an agent without a program of its own starts: the inherited one as the run
// wants it, then the run's variables, without those that are named.
func Environ(inherited []string, run execution.RunOptions, without ...string) []string {
	e := (&Spec{}).environment(inherited, Invocation{}, run, "")
	for _, name := range without {
		delete(e.vars, e.key(name))
	}
	return e.list()
}

// environ is an environment under construction. Names are compared as the platform compares them.
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

// bypassProxy excludes a server of this host from the environment's proxy.
func (e environ) bypassProxy(host string) {
	proxied := false
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
		proxied = proxied || e.get(name) != ""
	}
	if !proxied {
		return
	}
	// Programs differ in which spelling they read and which one wins.
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
