package phasehook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/lazy"
	"github.com/drawbar/drawbar/internal/base/secret"
)

// The limits of what a hook may say.
const (
	mostAnnotations = 16
	mostValue       = 1000 // characters of an annotation
	mostMessage     = 4096 // bytes
	mostStderr      = 4096 // bytes that are kept of standard error
	mostOutput      = 1 << 20
)

var annotationKey = lazy.Regexp(`^[a-z0-9_-]+$`)

// execution is what a hook did.
type execution struct {
	duration time.Duration
	timedOut bool
	failure  string // why it cannot be asked, or how it ended; empty when it ended well
	exitCode *int
	status   int // of HTTP
	stdout   []byte
	tooMuch  bool // stdout is not all of it
	stderr   string
	redact   *secret.Redactor
}

// judgement is what is made of it.
type judgement struct {
	verdict     string
	message     string
	annotations []Annotation
	action      Action
}

// judge applies the order of precedence: time over, failure, output that says nothing, and at last the verdict.
func judge(h protocol.Hook, ran execution, blocking bool) judgement {
	failed := func(message string, blocked, warned Action) judgement {
		if blocking {
			return judgement{verdict: block, message: message, annotations: []Annotation{}, action: blocked}
		}
		return judgement{verdict: warn, message: message, annotations: []Annotation{}, action: warned}
	}
	switch {
	case ran.timedOut:
		return failed(fmt.Sprintf("Hook %q timed out after %dms", h.Name, h.TimeoutMS), BlockedTimeout, WarnedTimeout)
	case ran.failure != "":
		return failed(fmt.Sprintf("Hook %q failed (%s)", h.Name, ran.failure), BlockedFailure, WarnedFailure)
	}
	v, err := parseVerdict(ran.stdout)
	if ran.tooMuch {
		err = fmt.Errorf("more than %d bytes", mostOutput)
	}
	if err != nil {
		return failed(fmt.Sprintf("Hook %q produced invalid output: %v", h.Name, err), BlockedInvalidOutput, WarnedInvalidOutput)
	}
	v.action = map[string]Action{allow: Continued, warn: Warned, block: Blocked}[v.verdict]
	if v.verdict == block && !blocking {
		v.verdict, v.action = warn, Downgraded
	}
	return v
}

// parseVerdict reads what a hook says. Annotations beyond the limits are dropped, values cut.
func parseVerdict(data []byte) (judgement, error) {
	v := judgement{annotations: []Annotation{}}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	if len(data) == 0 {
		return v, fmt.Errorf("nothing, where {\"verdict\":\"allow\"} is the least")
	}
	var raw struct {
		Verdict     json.RawMessage `json:"verdict"`
		Message     json.RawMessage `json:"message"`
		Annotations json.RawMessage `json:"annotations"`
	}
	if protocol.Kind(data) != "object" {
		return v, fmt.Errorf("no JSON object")
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return v, fmt.Errorf("no JSON object: %w", err)
	}
	if json.Unmarshal(raw.Verdict, &v.verdict) != nil || v.verdict != allow && v.verdict != warn && v.verdict != block {
		return v, fmt.Errorf("verdict must be allow, warn or block")
	}
	_ = json.Unmarshal(raw.Message, &v.message) // something else than a string is no message
	v.message = cut(v.message, mostMessage)
	var list []json.RawMessage
	if json.Unmarshal(raw.Annotations, &list) != nil {
		return v, nil
	}
	for _, item := range list[:min(len(list), mostAnnotations)] {
		var a struct{ Key, Value *string }
		if json.Unmarshal(item, &a) != nil || a.Key == nil || a.Value == nil || !annotationKey().MatchString(*a.Key) {
			continue
		}
		v.annotations = append(v.annotations, Annotation{*a.Key, firstRunes(*a.Value, mostValue)})
	}
	return v, nil
}

func firstRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// cut shortens to a number of bytes, not within a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
