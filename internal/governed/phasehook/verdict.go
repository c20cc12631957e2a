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

// The limits of a hook's answer.
const (
	mostAnnotations = 16
	mostValue       = 1000 // characters of an annotation
	mostMessage     = 4096 // bytes
	mostStderr      = 4096 // bytes that are kept of standard error
	mostOutput      = 1 << 20
)

var annotationKey = lazy.Regexp(`^[a-z0-9_-]+$`)

// execution is the result of calling a hook.
type execution struct {
	duration time.Duration
	timedOut bool
	failure  string // why it could not be called, or how it failed; empty on success
	exitCode *int
	status   int // of HTTP
	stdout   []byte
	tooMuch  bool // stdout is incomplete
	stderr   string
	redact   *secret.Redactor
}

// judgement is the evaluation of a call.
type judgement struct {
	verdict     string
	message     string
	annotations []Annotation
	action      Action
}

// judge applies the order of precedence: timeout, failure, invalid output, and last the verdict.
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

// parseVerdict parses a hook's answer. Annotations beyond the limits are dropped, values cut.
func parseVerdict(data []byte) (judgement, error) {
	v := judgement{annotations: []Annotation{}}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	if len(data) == 0 {
		return v, fmt.Errorf("it is empty; the minimum is {\"verdict\":\"allow\"}")
	}
	var raw struct {
		Verdict     json.RawMessage `json:"verdict"`
		Message     json.RawMessage `json:"message"`
		Annotations json.RawMessage `json:"annotations"`
	}
	if protocol.Kind(data) != "object" {
		return v, fmt.Errorf("not a JSON object")
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return v, fmt.Errorf("not a JSON object: %w", err)
	}
	if json.Unmarshal(raw.Verdict, &v.verdict) != nil || v.verdict != allow && v.verdict != warn && v.verdict != block {
		return v, fmt.Errorf("verdict must be allow, warn or block")
	}
	_ = json.Unmarshal(raw.Message, &v.message) // a value of another type is not a message
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

// cut shortens a string to a number of bytes, not within a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
