package chatapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/httpcall"
)

// Fault is a classified failure of a call (specification 001, "Error classification"), in the form in which it is
// recorded.
type Fault struct {
	Class        execution.ErrorClass    `json:"error_class"`
	Category     execution.ErrorCategory `json:"category"` // specification 000
	Message      string                  `json:"message"`
	Recovery     string                  `json:"recovery"`
	Retryable    bool                    `json:"retryable"`
	HTTPStatus   *int                    `json:"http_status"`
	RawDetail    string                  `json:"raw_detail,omitempty"`
	ProviderType string                  `json:"provider_error_type,omitempty"`
	ProviderCode string                  `json:"provider_error_code,omitempty"`
	RetryAfterMS int64                   `json:"retry_after_ms,omitempty"` // what the provider asks to wait

}

// After returns what the provider asks to wait; 0 if it asks nothing.
func (f *Fault) After() time.Duration { return time.Duration(f.RetryAfterMS) * time.Millisecond }

// mostDetail bounds RawDetail, in bytes.
const mostDetail = 500

// classes are the error classes with their category, and whether another request may help.
var classes = map[execution.ErrorClass]struct {
	category  execution.ErrorCategory
	retryable bool
}{
	execution.ClassAuthFailure:          {execution.CategoryPermanent, false},
	execution.ClassModelNotFound:        {execution.CategoryPermanent, false},
	execution.ClassInvalidRequest:       {execution.CategoryPermanent, false},
	execution.ClassContextOverflow:      {execution.CategoryPermanent, false},
	execution.ClassRateLimited:          {execution.CategoryTransient, true},
	execution.ClassProviderOverloaded:   {execution.CategoryTransient, true},
	execution.ClassNetworkFailure:       {execution.CategoryTransient, true},
	execution.ClassTimeout:              {execution.CategoryTransient, true},
	execution.ClassResponseParseFailure: {execution.CategoryParse, true},
	execution.ClassExtractionFailure:    {execution.CategoryParse, true},
	execution.ClassUnknownAPIError:      {execution.CategoryTransient, true},
}

// NewFault returns a fault of a class, with what a person can do about it.
func NewFault(class execution.ErrorClass, message string) *Fault {
	c := classes[class]
	return &Fault{Class: class, Category: c.category, Retryable: c.retryable, Message: message, Recovery: recovery(class)}
}

// recovery says what a person can do about an error class.
func recovery(class execution.ErrorClass) string {
	switch class {
	case execution.ClassAuthFailure:
		return "check the key in the variable that auth_env names"
	case execution.ClassModelNotFound:
		return "correct model in agentxchain.json"
	case execution.ClassInvalidRequest:
		return "correct the runtime's settings in agentxchain.json: model, base_url, max_output_tokens"
	case execution.ClassContextOverflow:
		return "use a model with a larger context window, or set preflight_tokenization and context_window_tokens to trim the context"
	case execution.ClassRateLimited:
		return "wait until the limit resets"
	case execution.ClassProviderOverloaded:
		return "wait until the provider answers again"
	case execution.ClassNetworkFailure:
		return "check the network, base_url, and whether the service runs"
	case execution.ClassTimeout:
		return "raise timeout_seconds"
	case execution.ClassResponseParseFailure:
		return "check that base_url is an endpoint of this provider's API"
	case execution.ClassExtractionFailure:
		return "use a model that follows instructions more closely, or raise max_output_tokens"
	}
	return "read raw_detail for the provider's own words"
}

// fault names the provider, and never contains the key.
func (a API) fault(class execution.ErrorClass, r Request, message string) *Fault {
	return NewFault(class, a.Title+": "+hide(r, message))
}

func hide(r Request, text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if r.Key == "" {
		return text
	}
	return strings.ReplaceAll(text, r.Key, "[REDACTED]")
}

func detail(r Request, body []byte) string {
	text := hide(r, strings.TrimSpace(string(body)))
	if len(text) > mostDetail {
		text = strings.ToValidUTF8(text[:mostDetail], "") + "..."
	}
	return text
}

// lost is the fault of a call without a complete answer.
func (a API) lost(r Request, err error) *Fault {
	e := (*httpcall.Error)(nil)
	switch {
	case errors.Is(err, httpcall.ErrTooLarge):
		return a.fault(execution.ClassResponseParseFailure, r, err.Error())
	case errors.As(err, &e) && e.Timeout:
		limit := ""
		if r.Timeout > 0 {
			limit = fmt.Sprintf(" within %s", r.Timeout)
		}
		return a.fault(execution.ClassTimeout, r, "no complete answer"+limit)
	case errors.Is(err, httpcall.ErrRedirect):
		f := a.fault(execution.ClassNetworkFailure, r, err.Error())
		f.Retryable, f.Recovery = false, "set base_url to the address that it redirects to, if you trust it"
		return f
	case errors.Is(err, syscall.ECONNREFUSED):
		return a.fault(execution.ClassNetworkFailure, r, "nothing answers at "+a.Endpoint(r))
	}
	return a.fault(execution.ClassNetworkFailure, r, err.Error())
}

// stated is the error object of a response, as any of the providers writes it.
type stated struct {
	Type, Code, Message string
	after               time.Duration
}

func readStated(body []byte) (s stated) {
	var v struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &v) != nil {
		return s
	}
	if json.Unmarshal(v.Error, &s.Message) == nil { // Ollama's own form
		return s
	}
	var e struct {
		Type    string          `json:"type"`
		Status  string          `json:"status"` // Google's type
		Code    json.RawMessage `json:"code"`   // a word or a number
		Message string          `json:"message"`
		Details []struct {
			Reason     string `json:"reason"`
			RetryDelay string `json:"retryDelay"`
		} `json:"details"`
	}
	if json.Unmarshal(v.Error, &e) != nil {
		return s
	}
	s.Type, s.Message, s.Code = cmp.Or(e.Type, e.Status), e.Message, strings.Trim(string(e.Code), `"`)
	if s.Code == "null" {
		s.Code = ""
	}
	for _, d := range e.Details {
		if d.Reason == "API_KEY_INVALID" {
			s.Code = d.Reason
		}
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			s.after = wait
		}
	}
	return s
}

// refused is the fault of a response with an error status.
func (a API) refused(r Request, status int, header http.Header, body []byte) *Fault {
	s := readStated(body)
	class := a.classOf(status, s)
	f := a.fault(class, r, fmt.Sprintf("HTTP %d: %s", status, cmp.Or(s.Message, http.StatusText(status), "no message")))
	f.HTTPStatus, f.RawDetail, f.ProviderType, f.ProviderCode = &status, detail(r, body), s.Type, s.Code
	if class == execution.ClassRateLimited || class == execution.ClassProviderOverloaded || class == execution.ClassUnknownAPIError {
		f.RetryAfterMS = wait(header, s, time.Now()).Milliseconds()
	}
	if class == execution.ClassRateLimited && spent(s) {
		f.Retryable, f.Category = false, execution.CategoryPermanent
		f.Recovery = "raise the account's spending limit at the provider, or use another runtime"
	}
	return f
}

// classOf is the class of an error status, by the protocol's table. What the table does not name is unknown_api_error,
// but for two statuses of Google's that mean what other providers state by one of the table.
func (a API) classOf(status int, s stated) execution.ErrorClass {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return execution.ClassAuthFailure
	case http.StatusNotFound:
		return execution.ClassModelNotFound
	case http.StatusBadRequest:
		switch {
		case s.Code == "API_KEY_INVALID":
			return execution.ClassAuthFailure
		case overflow(s):
			return execution.ClassContextOverflow
		}
		return execution.ClassInvalidRequest
	case http.StatusTooManyRequests:
		return execution.ClassRateLimited
	case 529:
		return execution.ClassProviderOverloaded
	case http.StatusServiceUnavailable:
		if s.Type == "UNAVAILABLE" || s.Type == "overloaded_error" {
			return execution.ClassProviderOverloaded
		}
	}
	return execution.ClassUnknownAPIError
}

// overflow reports whether a bad request is one that is too long for the model.
func overflow(s stated) bool {
	text := strings.ToLower(s.Code + " " + s.Message)
	if strings.Contains(text, "max_tokens") || strings.Contains(text, "max_completion_tokens") || strings.Contains(text, "maxoutputtokens") {
		return strings.Contains(text, "context") // the limit on the answer is a setting, unless both do not fit together
	}
	return strings.Contains(text, "context") || strings.Contains(text, "token") || strings.Contains(text, "prompt is too long")
}

// spent reports whether a limit is one of money, which no wait resets.
func spent(s stated) bool {
	text := strings.ToLower(s.Type + " " + s.Code + " " + s.Message)
	words := []string{"spend", "budget", "daily", "insufficient_quota"}
	if s.after == 0 {
		words = append(words, "billing", "credit")
	}
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// wait returns what the provider asks to wait: Retry-After, a delay in the body, or when an exhausted limit resets.
func wait(h http.Header, s stated, now time.Time) time.Duration {
	if d, ok := httpcall.RetryAfter(h, now); ok {
		return d
	}
	if s.after > 0 {
		return s.after
	}
	var most time.Duration
	for name := range h {
		limit, isAnthropic := strings.CutPrefix(name, "Anthropic-Ratelimit-")
		reset, remaining := strings.TrimSuffix(limit, "-Reset"), "Anthropic-Ratelimit-%s-Remaining"
		switch {
		case isAnthropic && reset != limit:
		case strings.HasPrefix(name, "X-Ratelimit-Reset-"):
			reset, remaining = strings.TrimPrefix(name, "X-Ratelimit-Reset-"), "X-Ratelimit-Remaining-%s"
		default:
			continue
		}
		if left := h.Get(fmt.Sprintf(remaining, reset)); left != "" && left != "0" {
			continue // this limit is not the exhausted one
		}
		most = max(most, until(h.Get(name), now))
	}
	return most
}

// until reads a moment, a duration, or a number of seconds.
func until(text string, now time.Time) time.Duration {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return max(0, at.Sub(now))
	}
	if d, err := time.ParseDuration(text); err == nil {
		return max(0, d)
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > 0 && n < 1e6 {
		return time.Duration(n * float64(time.Second))
	}
	return 0
}
