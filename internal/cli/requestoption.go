package cli

import (
	"encoding/json"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/agent/toolrule"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/settings/config"
)

// reading returns the value of an option's flag for a run of an agent, ready to be encoded as JSON.
type reading func(app *App, agent string) (any, error)

// registerOption adds the flag of an option. Its form and its parser follow from the option's type.
func registerOption(cmd *cobra.Command, o execution.Option) reading {
	fl := cmd.Flags()
	switch reflect.Zero(o.Field().Type).Interface().(type) {
	case bool:
		v := fl.BoolP(o.Flag, o.Short, false, o.Usage)
		return func(*App, string) (any, error) { return *v, nil }
	case int:
		v := fl.IntP(o.Flag, o.Short, 0, o.Usage)
		return func(*App, string) (any, error) { return *v, least(o.Flag, *v, int(o.Min)) }
	case *execution.RetryPolicy:
		p := execution.DefaultRetryPolicy()
		fl.IntVarP(&p.MaxAttempts, o.Flag, o.Short, 1, o.Usage)
		return func(*App, string) (any, error) { return p, least(o.Flag, p.MaxAttempts, 1) }
	case int64, *int64:
		var ms int64
		_ = json.Unmarshal([]byte(o.Default), &ms) // most options have no default
		d := fl.DurationP(o.Flag, o.Short, time.Duration(ms)*time.Millisecond, o.Usage)
		return func(*App, string) (any, error) {
			if *d < 0 || *d > 0 && *d < time.Millisecond {
				return nil, Usage("--%s %s is out of range", o.Flag, *d).WithHint("a duration such as 90s or 20m")
			}
			return d.Milliseconds(), nil
		}
	case *float64:
		v := fl.Float64P(o.Flag, o.Short, 0, o.Usage)
		return func(*App, string) (any, error) {
			if math.IsNaN(*v) || *v < o.Min || *v > o.Max {
				return nil, Usage("--%s %g is out of range", o.Flag, *v).WithHint("%g to %g", o.Min, o.Max)
			}
			return *v, nil
		}
	case []string, map[string]string, []execution.MCPServer:
		return registerList(cmd, o)
	}
	v := fl.StringP(o.Flag, o.Short, "", o.Usage)
	return func(app *App, agent string) (any, error) {
		switch {
		case o.Name == "sessionId" || o.Name == "forkSessionId":
			return nativeSession(app, agent, o.Flag, *v)
		case o.Name == "outputSchema" && *v != "":
			return jsonFile(o.Flag, *v)
		case o.Name == "agentsDoc" && *v != "":
			b, err := ReadFlag("--"+o.Flag, *v, maxFlagFile)
			return string(b), err
		}
		return *v, nil
	}
}

// registerList adds a repeatable flag.
func registerList(cmd *cobra.Command, o execution.Option) reading {
	v := cmd.Flags().StringArrayP(o.Flag, o.Short, nil, o.Usage)
	switch reflect.Zero(o.Field().Type).Interface().(type) {
	case map[string]string:
		return func(app *App, _ string) (any, error) { return Environment(app, *v) }
	case []execution.MCPServer:
		return func(*App, string) (any, error) {
			var all []execution.MCPServer
			for _, file := range *v {
				servers, err := ReadMCP("--mcp", file)
				if err != nil {
					return nil, err
				}
				all = append(all, servers...)
			}
			return all, nil
		}
	}
	return func(*App, string) (any, error) {
		list := slices.Clone(*v)
		if o.Name == "allowTools" || o.Name == "denyTools" {
			if _, err := toolrule.ParseAll(list); err != nil {
				return nil, Usage("--%s: %v", o.Flag, err)
			}
		}
		if o.Name == "tags" && slices.Contains(list, "") {
			return nil, Usage("--tag is empty").WithHint("--tag NAME")
		}
		for i := 0; o.Name == "skills" && i < len(list); i++ { // relative to the current directory, not to --cwd
			path, err := filepath.Abs(list[i])
			if err != nil {
				return nil, Usage("--%s %s: %v", o.Flag, list[i], err)
			}
			list[i] = path
		}
		return list, nil
	}
}

// Stated returns only the options that the flags state. All mistakes in them are reported here.
func (f *RequestFlags) Stated(app *App, cmd *cobra.Command, agentName string) (config.Options, error) {
	if err := contradictions(cmd); err != nil {
		return nil, err
	}
	values := map[string]any{}
	for o := range execution.Options() {
		// The directory and the profile are read separately.
		if o.Flag == "" || !cmd.Flags().Changed(o.Flag) || o.Name == "cwd" || o.Name == "profile" {
			continue
		}
		v, err := f.readings[o.Name](app, agentName)
		if err != nil {
			return nil, err
		}
		if v != "" { // an empty value counts as unset
			values[o.Name] = v
		}
	}
	if agentName != "" {
		values["agent"] = agentName
	}
	if len(f.Command) > 0 {
		values["command"] = f.Command
	}
	switch {
	case f.Yolo:
		values["approvalMode"] = execution.ApprovalYolo
	case f.Deny:
		values["approvalMode"] = execution.ApprovalDeny
	}
	stated := config.Options{}
	for name, v := range values {
		b, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		stated[name] = b
	}
	return stated, nil
}

// contradictions refuses flags that exclude each other.
func contradictions(cmd *cobra.Command) error {
	groups := [][]string{{"yolo", "deny", "approve"}, {"system", "system-file"}, nil}
	for o := range execution.Options() {
		if o.Group == "session" {
			groups[2] = append(groups[2], o.Flag)
		}
	}
	for _, group := range groups {
		given := slices.DeleteFunc(group, func(name string) bool { return !cmd.Flags().Changed(name) })
		if len(given) > 1 {
			return Usage("--%s and --%s contradict each other", given[0], given[1]).WithHint("give one of them")
		}
	}
	return nil
}

func least(flag string, n, least int) error {
	if n < least {
		return Usage("--%s %d is out of range", flag, n).WithHint("%d or more", least)
	}
	return nil
}

func jsonFile(flag, path string) (any, error) {
	b, err := ReadFlag("--"+flag, path, maxFlagFile)
	if err != nil {
		return nil, err
	}
	if !json.Valid(b) {
		return nil, Usage("--%s %s: the file does not contain JSON", flag, path)
	}
	return json.RawMessage(b), nil
}

// Environment reads the values of --env: NAME=VALUE, or NAME for its current value.
func Environment(app *App, pairs []string) (map[string]string, error) {
	m := map[string]string{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if name == "" {
			return nil, Usage("--env %q has no name", pair).WithHint("--env NAME=VALUE")
		}
		if name[0] >= '0' && name[0] <= '9' || strings.ContainsAny(name, " \t\n\x00") {
			return nil, Usage("--env %s: %q cannot be the name of a variable", pair, name).WithHint("--env NAME=VALUE; a name begins with a letter or _")
		}
		if !ok {
			if value = app.Getenv(name); value == "" {
				return nil, Usage("--env %s: the variable is not set here", name).WithHint("--env %s=VALUE", name)
			}
		}
		m[name] = value
	}
	return m, nil
}
