package runrecording

import (
	"encoding/json"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/jsontext"
)

// notCompared are the members of a request that say who asks, when and where.
var notCompared = []string{"schemaVersion", "assistantId", "turnId", "sessionId", "userId", "threadId", "metadata", "sessionUsage"}

// notComparedOptions are such options of runs, and those that change nothing that an agent does.
var notComparedOptions = []string{"runId", "cwd", "env", "tags", "projectId", "profile", "collectEvents", "debug"}

// Asked is what a run asks for, in the form in which it is recorded and compared.
type Asked struct {
	Request execution.Request
	// Hooked runs have a hook that decides on tool calls, and Fallback lists the agents to try next. No request states either.
	Hooked   bool
	Fallback []string
}

// json returns the request without noise.
func (a Asked) json() (json.RawMessage, error) {
	text, err := json.Marshal(a.Request)
	if err != nil {
		return nil, err
	}
	var all, options, message map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(all["run"], &options); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(all["message"], &message); err != nil {
		return nil, err
	}
	for _, name := range notCompared {
		delete(all, name)
	}
	for _, name := range notComparedOptions {
		delete(options, name)
	}
	delete(message, "id")
	delete(message, "receivedAt")
	if a.Hooked {
		options["preToolUse"] = json.RawMessage("true")
	}
	if len(a.Fallback) > 0 {
		if options["fallback"], err = json.Marshal(a.Fallback); err != nil {
			return nil, err
		}
	}
	out := map[string]any{}
	for name, value := range all {
		out[name] = value
	}
	out["run"], out["message"] = options, message
	return json.Marshal(out)
}

// compare compares a recorded request with what is asked for. Paths of the working directory are the same.
func (r *run) compare(asked json.RawMessage, cwd string) []jsontext.Difference {
	return jsontext.Compare("the request", r.Request, asked, func(text string) string { return jsontext.ReplacePath(text, r.Cwd, "{cwd}") },
		func(text string) string { return jsontext.ReplacePath(text, cwd, "{cwd}") })
}
