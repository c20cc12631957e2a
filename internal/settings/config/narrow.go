package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/execution"
)

// A repository can only narrow what its user allows. This file applies that rule to options of runs: what a
// project must not state at all, and which of two values is tighter.

// checkProject refuses settings that a repository could use against the person who cloned it. It checks the raw
// keys: an empty list would remove the user's entries.
func (l *layer) checkProject() error {
	if err := l.refuse("", l.raw); err != nil {
		return err
	}
	for _, own := range []string{"safeDirectories", "notify", "budgets"} {
		if _, ok := l.raw[own]; ok {
			return notInProject(l.path, own)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.file.Agents)) {
		if err := l.refuse("agents."+name+".", l.file.Agents[name]); err != nil {
			return err
		}
	}
	for i, m := range l.file.Models {
		if m.Price != nil {
			return notInProject(l.path, fmt.Sprintf("models[%d].price", i))
		}
	}
	return nil
}

// refuse refuses options that a project must not state with any value, because they would run something or
// decide on the user's behalf, and words that allow everything.
func (l *layer) refuse(at string, raw Options) error {
	for o := range execution.Options() {
		if _, ok := raw[o.Name]; !ok {
			continue
		}
		if !o.In(execution.ReachProject) {
			return notInProject(l.path, at+o.Name)
		}
		if o.Never != "" && raw.text(o.Name) == o.Never {
			return notInProject(l.path, at+o.Name+": "+o.Never)
		}
	}
	return nil
}

func notInProject(path, what string) error {
	return fileError(path, "a project cannot set %s: whoever wrote the repository would decide about this machine", what).
		WithHint("set it in your own file (drawbar config set --scope global ...), in your profile, or on the command line")
}

func (o Options) text(key string) (s string) {
	_ = json.Unmarshal(o[key], &s) // checked when the file was read
	return s
}

func (o Options) number(key string) (n float64) {
	_ = json.Unmarshal(o[key], &n) // checked when the file was read
	return n
}

// narrowing reports whether a project's value of a key applies only if it is tighter.
func narrowing(key string) bool {
	o, _ := execution.OptionNamed(key)
	return o.Tight != ""
}

// narrow returns which of a project's options apply on top of the user's, and messages about the others.
func narrow(project, user Options, path string) (held Options, ignored []string) {
	held = Options{}
	for _, key := range slices.Sorted(maps.Keys(project)) {
		raw := project[key]
		if key == "retryPolicy" {
			attempts, rest := attempts(raw), slices.DeleteFunc(members(raw), func(k string) bool { return k == "maxAttempts" || k == "maxRetries" || k == "max_retries" })
			if most := allowed(user["retryPolicy"]); attempts > most {
				ignored = append(ignored, fmt.Sprintf("%s: retryPolicy of %d attempts is ignored: you allow %d", path, attempts, most))
			} else if attempts > 0 {
				held[key] = json.RawMessage(fmt.Sprintf(`{"maxAttempts":%d}`, attempts))
			}
			if len(rest) > 0 {
				ignored = append(ignored, fmt.Sprintf("%s: retryPolicy.%s is ignored: a project can only lower maxAttempts", path, strings.Join(rest, ", ")))
			}
			continue
		}
		if limit, loose := looser(key, project, user); loose {
			ignored = append(ignored, fmt.Sprintf("%s: %s %s is ignored: %s", path, key, raw, limit))
			continue
		}
		held[key] = raw
	}
	return held, ignored
}

// looser reports whether the project's value of a key allows more than the user's, and describes the user's.
func looser(key string, project, user Options) (limit string, loose bool) {
	o, _ := execution.OptionNamed(key)
	yours := fmt.Sprintf("yours is %s", user[key])
	switch o.Tight {
	case "":
		return "", false
	case "less":
		unset := math.Inf(1)
		if o.Default != "" {
			unset = Options{key: json.RawMessage(o.Default)}.number(key)
		}
		if user[key] == nil {
			yours = fmt.Sprintf("the default is %g", unset)
		}
		value := func(of Options) float64 {
			switch n := of.number(key); {
			case of[key] == nil:
				return unset
			case n == 0 && o.Field().Type.Kind() != reflect.Pointer: // if zero is a value, the field is a pointer
				return math.Inf(1)
			default:
				return n
			}
		}
		return yours, value(project) > value(user)
	}
	ranks := strings.Fields(o.Tight)
	rank := func(word string) int {
		return slices.IndexFunc(ranks, func(same string) bool { return slices.Contains(strings.Split(same, "|"), word) })
	}
	allowed := 0 // without a sandbox of the user's the agent's own applies, which may be its tightest
	if word := user.text(key); word != "" {
		allowed = rank(word)
	} else if yours = "you have not allowed it"; o.Default != "" {
		allowed = rank(Options{key: json.RawMessage(o.Default)}.text(key))
	}
	theirs := project.text(key)
	return yours, theirs == "" && user[key] != nil || rank(theirs) > allowed
}

// attempts returns the attempts of a retry policy, 0 if it has none.
func attempts(raw json.RawMessage) int {
	var p execution.RetryPolicy
	said := slices.ContainsFunc(members(raw), func(k string) bool { return k == "maxAttempts" || k == "maxRetries" || k == "max_retries" })
	if !said || json.Unmarshal(raw, &p) != nil {
		return 0
	}
	return p.MaxAttempts
}

// allowed returns how many attempts a user's policy allows: one without a policy, the default's if it states no
// number.
func allowed(raw json.RawMessage) int {
	if raw == nil {
		return 1
	}
	var p execution.RetryPolicy
	_ = json.Unmarshal(raw, &p) // checked when the file was read
	return p.MaxAttempts
}

// members returns the keys of an object, sorted.
func members(raw json.RawMessage) []string {
	var object map[string]json.RawMessage
	_ = json.Unmarshal(raw, &object) // any other value has none
	return slices.Sorted(maps.Keys(object))
}

// oneSpelling returns a retry policy with maxAttempts, whichever spelling it was written in.
func oneSpelling(raw json.RawMessage) json.RawMessage {
	var object map[string]json.RawMessage
	n := attempts(raw)
	if n == 0 || json.Unmarshal(raw, &object) != nil {
		return raw
	}
	delete(object, "maxRetries")
	delete(object, "max_retries")
	object["maxAttempts"] = json.RawMessage(strconv.Itoa(n))
	if b, err := json.Marshal(object); err == nil {
		raw = b
	}
	return raw
}
