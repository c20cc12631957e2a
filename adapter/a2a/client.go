package a2a

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/service"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/httpcall"
)

const (
	maxCard   = 1 << 20         // bytes of a card
	maxAnswer = 256 << 20       // bytes of one answer
	maxWords  = 4 << 10         // bytes of an error's text
	silence   = 5 * time.Minute // between two pieces of an answer
	cardWait  = 30 * time.Second
)

// cardPath is where a card is (specification, section 8.2).
const cardPath = "/.well-known/agent-card.json"

// client calls one agent. It is safe for concurrent use.
type client struct {
	access *service.Access
	opened service.Opened
	http   *httpcall.Client
	own    bool // the transport is ours to close
}

func dial(access *service.Access, opened service.Opened, transport http.RoundTripper) *client {
	return &client{access, opened, httpcall.New(transport), transport == nil}
}

func (c *client) close() {
	if c.own {
		c.http.Close()
	}
}

// statusError is an answer with a status that says enough.
type statusError struct {
	status int
	words  string
}

func (e *statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("status %d %s %s", e.status, http.StatusText(e.status), e.words))
}

// RoundTrip implements http.RoundTripper for the protocol's library: with the keys, without redirects, bounded.
func (c *client) RoundTrip(req *http.Request) (*http.Response, error) {
	call := httpcall.Call{URL: req.URL.String(), Header: req.Header.Clone(), Limit: maxAnswer, Silence: silence}
	if req.Body != nil {
		body, err := io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
		call.Body = body
	}
	if c.opened.Key != "" {
		call.Header.Set("Authorization", "Bearer "+c.opened.Key)
	}
	maps.Copy(call.Header, c.opened.Header)
	call.Header.Set("User-Agent", "drawbar")
	answer, err := c.http.Do(req.Context(), call)
	if err != nil {
		return nil, err
	}
	switch answer.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		defer func() { _ = answer.Body.Close() }()
		words, _ := io.ReadAll(io.LimitReader(answer.Body, maxWords)) // only for the message
		return nil, &statusError{answer.Status, cut(string(bytes.TrimSpace(words)), 200)}
	}
	return &http.Response{StatusCode: answer.Status, Status: fmt.Sprintf("%d %s", answer.Status, http.StatusText(answer.Status)), Header: answer.Header,
		Body: answer.Body, Request: req, ContentLength: -1, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}, nil
}

// card reads the agent's card. The interfaces in it that are on another host are left out: they would get the keys.
func (c *client) card(ctx context.Context) (*a2a.AgentCard, *cliagent.Failure) {
	ctx, cancel := context.WithTimeout(ctx, cardWait)
	defer cancel()
	base := c.opened.Base
	at := base
	if !strings.HasSuffix(base, ".json") {
		at += cardPath
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, c.lost(err)
	}
	res, err := c.RoundTrip(req)
	if err != nil {
		return nil, c.lost(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, &cliagent.Failure{Code: execution.CodeProvider, Message: fmt.Sprintf("%s has no card at %s: status %s", c.access.Title, at, res.Status),
			Hint: "is it an agent of the Agent2Agent protocol? The address is that of the agent, or of its card"}
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxCard+1))
	if err != nil {
		return nil, c.lost(err)
	}
	var card a2a.AgentCard
	if len(text) > maxCard {
		err = errors.New("it is too large")
	} else {
		err = json.Unmarshal(text, &card)
	}
	if err != nil {
		return nil, &cliagent.Failure{Code: execution.CodeParse, Message: c.opened.Clean(fmt.Sprintf("the card of %s at %s cannot be read: %v", c.access.Title, at, err))}
	}
	return &card, c.confine(&card)
}

// confine keeps the interfaces of a card that can be called, and that are on the host of its address.
func (c *client) confine(card *a2a.AgentCard) *cliagent.Failure {
	home, err := url.Parse(c.opened.Base)
	if err != nil {
		return c.lost(err)
	}
	var kept []*a2a.AgentInterface
	var foreign, other []string
	for _, i := range card.SupportedInterfaces {
		if i == nil {
			continue
		}
		u, err := url.Parse(i.URL)
		switch {
		case i.ProtocolBinding != a2a.TransportProtocolJSONRPC && i.ProtocolBinding != a2a.TransportProtocolHTTPJSON:
			other = append(other, string(i.ProtocolBinding))
		case !strings.HasPrefix(string(i.ProtocolVersion), "1."):
			other = append(other, fmt.Sprintf("version %s", i.ProtocolVersion))
		case err != nil || u.Scheme != home.Scheme || u.Host != home.Host || u.User != nil:
			foreign = append(foreign, cut(i.URL, 100))
		default:
			kept = append(kept, i)
		}
	}
	card.SupportedInterfaces = kept
	switch {
	case len(kept) > 0:
		return nil
	case len(foreign) > 0:
		return &cliagent.Failure{Code: execution.CodeConfig, Message: fmt.Sprintf("the card of %s names another host than its own: %s", c.access.Title, strings.Join(foreign, ", ")),
			Hint: "if you trust that host, make it the address of the agent: drawbar agents edit " + c.access.Name}
	}
	return &cliagent.Failure{Code: execution.CodeCapability, Message: fmt.Sprintf("%s is reached in no way that Drawbar knows: %s", c.access.Title,
		cmp.Or(strings.Join(other, ", "), "its card names none")), Hint: "version 1 over JSON-RPC or HTTP+JSON is"}
}

// connect returns the protocol's client for a card.
func (c *client) connect(ctx context.Context, card *a2a.AgentCard) (*a2aclient.Client, *cliagent.Failure) {
	caller := &http.Client{Transport: c}
	factory := a2aclient.NewFactory(a2aclient.WithDefaultsDisabled(), a2aclient.WithJSONRPCTransport(caller), a2aclient.WithRESTTransport(caller))
	made, err := factory.CreateFromCard(ctx, card)
	if err != nil {
		return nil, &cliagent.Failure{Code: execution.CodeCapability, Message: c.opened.Clean(fmt.Sprintf("%s cannot be called: %v", c.access.Title, err))}
	}
	return made, nil
}

// words are the protocol's errors whose codes are not that of a failing service.
var words = []struct {
	err  error
	code execution.ErrorCode
}{
	{a2a.ErrUnauthenticated, execution.CodeAuth}, {a2a.ErrUnauthorized, execution.CodeAuth},
	{a2a.ErrTaskNotFound, execution.CodeSessionNotFound},
	{a2a.ErrInvalidParams, execution.CodeInvalidRequest}, {a2a.ErrInvalidRequest, execution.CodeInvalidRequest},
	{a2a.ErrUnsupportedContentType, execution.CodeInvalidRequest}, {a2a.ErrUnsupportedOperation, execution.CodeCapability},
	{a2a.ErrExtensionSupportRequired, execution.CodeCapability}, {a2a.ErrVersionNotSupported, execution.CodeCapability},
	{a2a.ErrParseError, execution.CodeParse}, {a2a.ErrInvalidAgentResponse, execution.CodeParse},
}

// lost is the failure of a call.
func (c *client) lost(err error) *cliagent.Failure {
	f := &cliagent.Failure{Code: execution.CodeProvider, Message: c.opened.Clean(c.access.Title + ": " + cut(err.Error(), 500))}
	if status := (*statusError)(nil); errors.As(err, &status) {
		f.Code = cmp.Or(cliagent.CodeOfStatus(int64(status.status)), f.Code)
	}
	for _, w := range words {
		if errors.Is(err, w.err) {
			f.Code = w.code
			break
		}
	}
	switch {
	case f.Code == execution.CodeAuth:
		f.Hint = "is the key valid? drawbar auth guide " + c.access.Name
	case errors.Is(err, httpcall.ErrRedirect), errors.Is(err, syscall.ECONNREFUSED):
		f.Hint = c.access.AddressHint(c.opened.Base, err)
	}
	return f
}

// cut shortens a text for people.
func cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
