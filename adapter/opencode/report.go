package opencode

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// reporter is the plugin that states what the protocol lacks.
//
//go:embed report.js
var reporter []byte

// inline is the variable of settings that add to all others.
const inline = "OPENCODE_CONFIG_CONTENT"

// npmLimits bound what OpenCode installs before it loads a plugin: without a network it would try for more than a minute.
var npmLimits = [][2]string{{"npm_config_fetch_retries", "0"}, {"npm_config_fetch_timeout", "5000"}}

// reporting returns the settings that load the plugin, and that of the run's hook, with the variables that limit npm. None are returned
// if the user's settings in the variable cannot be read, which OpenCode will say, or if no plugins are wanted.
func reporting(l *cliagent.Launch) (settings string, env map[string]string) {
	readSettings := map[string]json.RawMessage{}
	var plugins []any
	user := l.Variable(inline)
	if user != "" && declared.UnmarshalJSONC([]byte(user), &readSettings) != nil || readSettings["plugin"] != nil && json.Unmarshal(readSettings["plugin"], &plugins) != nil ||
		l.Variable("OPENCODE_PURE") != "" {
		return "", nil
	}
	ours := []string{}
	env = map[string]string{}
	for _, limit := range npmLimits {
		if l.Variable(limit[0]) == "" {
			env[limit[0]] = limit[1]
			ours = append(ours, limit[0])
		}
	}
	plugins = append(plugins, l.File("drawbar-report.js", reporterOf(l.Request.Run, ours)))
	if hook := hookOf(l); hook != "" {
		plugins = append(plugins, hook)
	}
	readSettings["plugin"] = encode(plugins)
	return string(encode(readSettings)), env
}

// reporterOf returns the plugin of a run. limits are variables that the commands of the run do not inherit.
func reporterOf(run execution.RunOptions, limits []string) []byte {
	text := bytes.Replace(reporter, []byte("const limits = [];"), slices.Concat([]byte("const limits = "), encode(limits), []byte(";")), 1)
	if run.ApprovalMode != execution.ApprovalYolo {
		text = bytes.Replace(text, []byte("const asks = undefined;"), []byte("const asks = "+asks+";"), 1)
	}
	return text
}

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // what was read from JSON, and strings, always encode
	}
	return b
}

var reportShape jsonscan.Shape[struct {
	_                                                                         jsonscan.Camel
	Session, Ended, Tokens, Cost, Failed, Error, Status, Retry, Refused, Lost jsonscan.Value
}]

// faults are the codes of OpenCode's names of errors.
var faults = map[string]execution.ErrorCode{"ProviderAuthError": execution.CodeAuth, "ContextOverflowError": execution.CodeContextExceeded}

// reportOf reads a line of the plugin.
func reportOf(line []byte) (r acpagent.Report, ok bool) {
	f, ok := acpagent.Reported(line, &reportShape)
	if !ok {
		return r, false
	}
	r = acpagent.Report{Session: f.Session.Str(), Ended: f.Ended.IsTrue(), Lost: f.Lost.IsTrue(), Usage: usageOf(f.Tokens), Message: cmp.Or(f.Failed.Str(), f.Retry.Str())}
	if usd, stated := f.Cost.Float(); stated {
		r.USD = max(usd, 0)
	}
	if f.Refused.Exists() {
		r.Notice = "lets nobody answer a sub-agent: its request for " + f.Refused.Str() + " was refused"
	}
	text := r.Message
	if status, stated := f.Status.Int(); stated {
		text = strconv.FormatInt(status, 10) + " " + text
	}
	code := cmp.Or(faults[f.Error.Str()], acpagent.CodeOfText(text), execution.CodeProvider)
	switch {
	case f.Failed.Exists():
		r.Failed = code
	case f.Retry.Exists():
		r.Retry = code
	}
	return r, true
}

// shellOf reads a call that runs a command: its exit code is in the tool's own form.
func shellOf(c *acpagent.ToolCall) (acpagent.Shell, bool) {
	sh, ok := acpagent.DefaultShell(c)
	if code, stated := c.OutputField("metadata").Get("exit").Int(); ok && stated {
		sh.ExitCode = new(int(code))
	}
	return sh, ok
}
