package sessionfile

import (
	"cmp"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// Time parses a time as agents write it: RFC 3339, or milliseconds since 1970. It returns zero for anything else.
func Time(v jsonscan.Value) time.Time {
	if n, ok := v.Int(); ok {
		if n <= 0 || n > 1<<46 {
			return time.Time{}
		}
		return time.UnixMilli(n).UTC()
	}
	text, ok := v.Plain()
	if !ok {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// Text returns the text of content in any vendor's form: a string, or a list of strings and of objects with a text.
func Text(v jsonscan.Value) string {
	switch v.Kind() {
	case jsonscan.String:
		return v.Str()
	case jsonscan.Array:
		var parts []string
		for _, e := range v.Array {
			if t := Text(e); t != "" {
				parts = append(parts, t)
			}
		}
		return strings.Join(parts, "\n")
	case jsonscan.Object:
		return v.Get("text").Str()
	}
	return ""
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// maxSubagentFile bounds the file that describes a sub-agent.
const maxSubagentFile = 1 << 20

// DescribeSubagent is a Format.Subagent for agents that keep a file NAME.meta.json beside a sub-agent's NAME.jsonl. Without it only the
// id is known.
func DescribeSubagent(h adapter.Host, path string) history.Subagent {
	stem := strings.TrimSuffix(path, ".jsonl")
	text, _ := ReadFile(h, stem+".meta.json", maxSubagentFile) // it is optional
	v, _ := jsonscan.Parse(text)
	return history.Subagent{ID: cmp.Or(v.Get("agentId").Str(), strings.TrimPrefix(filepath.Base(stem), "agent-")),
		Name: cmp.Or(v.Get("agentType").Str(), v.Get("subagentName").Str()), Description: v.Get("description").Str(),
		ToolCallID: v.Get("toolUseId").Str()}
}
