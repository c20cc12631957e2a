package chatapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/vendormodel"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/httpcall"
)

// DefaultMaxTokens bounds an answer whose runtime states no limit.
const DefaultMaxTokens = 4096

// maxAnswer bounds the body of an answer, in bytes.
const maxAnswer = 16 << 20

// Request is what is sent to a model.
type Request struct {
	Endpoint    string // complete URL; empty is the provider's own
	Key         string // sent in a header; empty sends none
	Model       string
	System      string
	Prompt      string
	MaxTokens   int // 0 is DefaultMaxTokens
	Temperature *float64
	Timeout     time.Duration // until the whole answer is read; 0 is no limit
}

// Answer is what a model answered. Texts are the places where a turn result may be: structured output first, then the
// text. Halted is the provider's own word for why an answer is missing or incomplete; empty if it is complete.
type Answer struct {
	Texts         []string
	Halted        string
	Input, Output int64 // tokens; cached ones count as input
	Raw           []byte
	RequestID     string
}

// format is one provider's wire.
type format interface {
	endpoint(model string) string
	// request returns the headers and the JSON body of a call.
	request(r Request) (http.Header, any)
	// answer reads the body of a successful call. It fills in Texts, Halted and the tokens.
	answer(body []byte) (Answer, error)
}

// API is the API of one provider. It is safe for concurrent use.
type API struct {
	Provider string
	Title    string // for people
	Keyless  bool   // works without a key
	format   format
}

// Of returns the API of a provider. custom is any API that is compatible with OpenAI's Chat Completions.
func Of(provider string) (API, bool) {
	switch provider {
	case "anthropic":
		return API{provider, "Anthropic", false, messages{}}, true
	case "openai":
		return API{provider, "OpenAI", false, chat{base: vendormodel.Address("openai") + "/chat/completions", current: true}}, true
	case "google":
		return API{provider, "Google", false, generate{}}, true
	case "ollama":
		return API{provider, "Ollama", true, chat{base: "http://localhost:11434/v1/chat/completions"}}, true
	case "custom":
		return API{provider, "the custom API", true, chat{}}, true
	}
	return API{}, false
}

// Endpoint returns where a request goes, without a query or user, which may hold a secret.
func (a API) Endpoint(r Request) string {
	u, err := url.Parse(a.address(r))
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

func (a API) address(r Request) string { return cmp.Or(r.Endpoint, a.format.endpoint(r.Model)) }

// Call sends a request and reads the whole answer. The fault says why there is none; it is classified and contains no
// key. When ctx ends, its class is timeout if the deadline expired.
func (a API) Call(ctx context.Context, client *httpcall.Client, r Request) (Answer, *Fault) {
	header, body := a.format.request(r)
	data, err := json.Marshal(body)
	if err != nil {
		return Answer{}, a.fault(execution.ClassInvalidRequest, r, "the request cannot be written: "+err.Error())
	}
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json")
	header.Set("User-Agent", "drawbar")
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout)
		defer cancel()
	}
	res, err := client.Do(ctx, httpcall.Call{URL: a.address(r), Header: header, Body: data, Limit: maxAnswer})
	if err != nil {
		return Answer{}, a.lost(r, err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return Answer{}, a.lost(r, err)
	}
	if res.Status/100 != 2 {
		return Answer{}, a.refused(r, res.Status, res.Header, raw)
	}
	answer, err := a.format.answer(raw)
	if err != nil {
		f := a.fault(execution.ClassResponseParseFailure, r, "the response cannot be read: "+err.Error())
		f.HTTPStatus, f.RawDetail = &res.Status, detail(r, raw)
		return Answer{Raw: raw}, f
	}
	answer.Raw, answer.RequestID = raw, cmp.Or(res.Header.Get("Request-Id"), res.Header.Get("X-Request-Id"))
	return answer, nil
}

// decode reads a JSON object of an API. Unknown members are ignored.
func decode(body []byte, into any) error {
	if body = bytes.TrimSpace(body); !bytes.HasPrefix(body, []byte("{")) {
		return errNotObject
	}
	return json.Unmarshal(body, into)
}

var errNotObject = errors.New("it is not a JSON object")

// text adds a text that is not blank.
func (a *Answer) text(s string) {
	if strings.TrimSpace(s) != "" {
		a.Texts = append(a.Texts, s)
	}
}
