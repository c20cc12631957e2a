package workspace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// Effect is the consequence of a change of the binding.
type Effect int

// The effects of changed settings.
const (
	Harmless   Effect = iota // it neither runs, hides nor redirects anything: it is only reported
	Rules                    // it decides what git runs, shows or sends, and where
	Repository               // it moves where git keeps the history
)

// Rebound is one difference between two bindings.
type Rebound struct {
	Text   string // for a person: what, how it was and how it is
	Effect Effect
}

// Rebounds returns the differences between an earlier Binding and the current one, ignoring unknown names.
func Rebounds(before, now protocol.Ordered[string]) []Rebound {
	names := slices.Concat(before.Keys(), now.Keys())
	slices.Sort(names)
	var list []Rebound
	spoken := false // name a setting that differs
	for _, name := range slices.Compact(names) {
		was, is := stands(before, name), stands(now, name)
		if was == is || !Binds(name) || strings.HasPrefix(name, bindConfig) {
			continue
		}
		r := Rebound{Text: fmt.Sprintf("%s %s", name, differently(was, is)), Effect: Rules}
		if key, ok := strings.CutPrefix(name, bindSetting); ok {
			spoken = true
			r.Text = fmt.Sprintf("%s: %s, and is %s", name, settingText("was", was), settingText("", is))
			if isQuiet(key, bare(was), bare(is)) {
				r.Effect = Harmless
			}
		} else if name == bindRepository {
			r = Rebound{Text: fmt.Sprintf("git keeps its history in %s, and kept it in %s when the turn began", is, was), Effect: Repository}
		}
		list = append(list, r)
	}
	for _, name := range slices.Compact(names) {
		was, is := stands(before, name), stands(now, name)
		if strings.HasPrefix(name, bindConfig) && was != is && !spoken {
			list = append(list, Rebound{Text: fmt.Sprintf("%s %s, with no setting changed", name, differently(was, is)), Effect: Harmless})
		}
	}
	return list
}

// stands is the value that a binding has for a name; a missing file is like an absent name.
func stands(all protocol.Ordered[string], name string) string {
	if value, _ := all.Get(name); value != noFile {
		return value
	}
	return ""
}

// Binds reports whether a name is one of Binding.
func Binds(name string) bool {
	return name == bindRepository || name == bindFlags || slices.Contains(bindFiles, strings.TrimPrefix(name, ".git/")) ||
		slices.ContainsFunc([]string{bindSetting, bindConfig, bindAttributes, bindExclude, bindHook, bindFilter}, func(p string) bool { return strings.HasPrefix(name, p) })
}

func differently(was, is string) string {
	switch {
	case was == "":
		return "is new"
	case is == "":
		return "is gone"
	}
	return "changed"
}

// bare returns the values of a setting without their origins.
func bare(value string) string {
	var all []string
	for line := range strings.Lines(value) {
		line = strings.TrimSuffix(line, "\n")
		if at := strings.LastIndex(line, " ("); at >= 0 {
			line = line[:at]
		}
		all = append(all, line)
	}
	return strings.Join(all, "\n")
}

func settingText(verb, value string) string {
	if value == "" {
		return strings.TrimSpace(verb + " not set")
	}
	var all []string
	for line := range strings.Lines(value) {
		line = strings.TrimSuffix(line, "\n")
		at := max(0, strings.LastIndex(line, " ("))
		all = append(all, fmt.Sprintf("%q in %s", seen(line[:at]), strings.Trim(line[at:], " ()")))
	}
	return strings.TrimSpace(verb + " " + strings.Join(all, " and "))
}
