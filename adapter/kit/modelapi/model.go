package modelapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"mime"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/pause"
	"github.com/drawbar/drawbar/transport/httpcall"
	"github.com/drawbar/drawbar/transport/sse"
)

// How failed calls are repeated.
const (
	attempts   = 5                // of one call
	malformed  = 2                // of a call whose answer is not in the API's format
	firstDelay = time.Second      // the bound of the first wait, which doubles
	mostDelay  = 30 * time.Second // the bound of any wait
	patience   = time.Minute      // the longest wait that a service may ask for
)

// failure is why a call failed.
type failure struct {
	cliagent.Failure
	after time.Duration // what the service asks to wait; 0 if it asks nothing
	limit int           // attempts for this failure; 0: do not repeat it
}

// callModel calls the model until it answers. A call is repeated while nothing of its answer was shown.
func (r *run) callModel(ctx context.Context, quiet bool) (*Reply, *failure) {
	for attempt := 1; ; attempt++ {
		reply := &Reply{run: r, quiet: quiet}
		f := r.once(ctx, reply)
		reply.Close()
		r.count(reply.Usage)
		if reply.Model != "" {
			r.model = reply.Model
		}
		if u := reply.Usage.WithTotal(); f == nil && u.Total > 0 {
			r.used = u.Total
		}
		if f == nil || ctx.Err() != nil {
			return reply, f
		}
		if attempt >= f.limit || len(reply.parts) > 0 || f.after > patience {
			f.Final = f.after > patience
			return nil, f
		}
		r.retries++
		delay := f.after
		if delay == 0 {
			delay = rand.N(min(firstDelay<<(attempt-1), mostDelay)) //nolint:gosec // jitter needs no secrecy
		}
		if f.Code == execution.CodeRateLimited {
			r.emit(execution.RateLimited{RetryAfterMs: f.after.Milliseconds(), Status: "rate_limit"})
		}
		r.emit(execution.Retry{Attempt: attempt, MaxAttempts: f.limit, Reason: f.Message, DelayMs: delay.Milliseconds(), Code: f.Code})
		if pause.For(ctx, delay) != nil {
			return nil, f
		}
	}
}

// count adds the usage of a call.
func (r *run) count(u execution.Usage) {
	if u = u.WithTotal(); !u.IsZero() {
		*r.total = r.total.Add(u)
		r.emit(u.CallEvent())
	}
}

// once makes one call.
func (r *run) once(ctx context.Context, reply *Reply) *failure {
	path, header, body := r.spec.Wire.Request(&r.call)
	data, err := json.Marshal(body)
	if err != nil {
		return &failure{Failure: cliagent.Failure{Code: execution.CodeInternal, Message: "write the request: " + err.Error()}}
	}
	if header == nil {
		header = http.Header{}
	}
	maps.Copy(header, r.opened.Header)
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "text/event-stream")
	header.Set("User-Agent", "drawbar")
	answer, err := r.client.Do(ctx, httpcall.Call{URL: r.call.Base + path, Header: header, Body: data, Limit: maxAnswer, Silence: silence})
	if err != nil {
		return r.lost(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if id := cmp.Or(answer.Header.Get("Request-Id"), answer.Header.Get("X-Request-Id")); id != "" {
		r.requests = append(r.requests, id)
	}
	if answer.Status != http.StatusOK {
		return r.refusal(answer)
	}
	if kind, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type")); err != nil || kind != "text/event-stream" {
		return &failure{limit: malformed, Failure: cliagent.Failure{Code: execution.CodeParse, Message: fmt.Sprintf("%s answered with %q instead of a stream of events",
			r.spec.Title, answer.Header.Get("Content-Type")), Hint: "is the address right? " + r.call.Base}}
	}
	return r.read(answer.Body, reply)
}

// read reads the events of an answer.
func (r *run) read(body io.Reader, reply *Reply) *failure {
	events, stream := sse.NewReader(body, maxEvent), r.spec.Wire.Stream()
	for !r.over {
		e, err := events.Next()
		switch {
		case err == nil:
		case stream.Done():
			return nil
		case errors.Is(err, io.EOF):
			return &failure{limit: attempts, Failure: cliagent.Failure{Code: execution.CodeProvider, Message: r.spec.Title + " broke the answer off"}}
		case errors.Is(err, sse.ErrTooLong), errors.Is(err, httpcall.ErrTooLarge):
			return &failure{Failure: cliagent.Failure{Code: execution.CodeParse, Message: r.spec.Title + ": " + err.Error()}}
		default:
			return r.lost(err)
		}
		if string(e.Data) == "[DONE]" {
			continue
		}
		if fault := stream.Event(e.Name, e.Data, reply); fault != nil {
			return r.stated(*fault)
		}
	}
	return nil
}

// Malformed is the fault of an event that is not in the API's format.
func Malformed(data []byte) *Fault {
	text := string(data)
	if len(text) > 200 {
		text = text[:200] + "..."
	}
	return &Fault{Code: execution.CodeParse, Message: "an event of the stream cannot be read: " + strings.ToValidUTF8(text, "\uFFFD")}
}

// lost is the failure of a call without an answer.
func (r *run) lost(err error) *failure {
	f := &failure{limit: attempts, Failure: cliagent.Failure{Code: execution.CodeProvider, Message: r.opened.Clean(r.spec.Title + ": " + err.Error())}}
	switch {
	case errors.Is(err, httpcall.ErrRedirect):
		f.limit, f.Final = 0, true
		f.Hint = r.spec.AddressHint(r.call.Base, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		f.limit = 2 // it may be restarting
		f.Hint = r.spec.AddressHint(r.call.Base, err)
	}
	return f
}

// refusal reads an answer with an error status.
func (r *run) refusal(answer *httpcall.Answer) *failure {
	body, _ := io.ReadAll(io.LimitReader(answer.Body, maxFault)) // an error of the error changes nothing
	fault := r.spec.Wire.Fault(answer.Status, body)
	fault.Status = answer.Status
	if fault.Message == "" {
		fault.Message = "status " + http.StatusText(answer.Status)
	}
	if after, ok := httpcall.RetryAfter(answer.Header, time.Now()); ok {
		fault.After = after
	}
	return r.stated(fault)
}

// stated is the failure that the service states.
func (r *run) stated(fault Fault) *failure {
	code := cmp.Or(fault.Code, cliagent.CodeOfStatus(int64(fault.Status)), execution.CodeProvider)
	if code != execution.CodeAuth && code != execution.CodeRateLimited && contextFull(fault.Message) {
		code = execution.CodeContextExceeded
	}
	message := r.opened.Clean(fault.Message)
	if fault.Type != "" && !strings.Contains(message, fault.Type) {
		message += " (" + fault.Type + ")"
	}
	f := &failure{after: fault.After, Failure: cliagent.Failure{Code: code, Message: message}}
	switch code {
	case execution.CodeAuth:
		f.Hint = strings.TrimSpace("is the key valid? " + r.spec.KeyPage)
	case execution.CodeRateLimited, execution.CodeProvider:
		f.limit = attempts
	case execution.CodeParse:
		f.limit = malformed
	}
	return f
}

// contextFull reports whether an error says that the prompt does not fit.
func contextFull(message string) bool {
	lower := strings.ToLower(message)
	for _, phrase := range []string{"prompt is too long", "context window", "context length", "context_length", "maximum context", "input token count", "too many tokens"} {
		if strings.Contains(lower, phrase) {
			return true
		}
	}
	return false
}
