package declarative

import (
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/service"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/lazy"
	"github.com/drawbar/drawbar/internal/base/shape"
)

// The formats of services.
const (
	APIChat      = string(execution.ProtocolChat)
	APIResponses = string(execution.ProtocolResponses)
	APIMessages  = string(execution.ProtocolMessages)
	APIGenerate  = "generate-content"
	// APIA2A is that of package adapter/a2a.
	APIA2A = "a2a"
)

// API is a service, instead of a program.
type API struct {
	Format  string            `json:"format"`
	URL     string            `json:"url"`
	Key     string            `json:"key"`
	KeyPage string            `json:"keyPage"`
	Headers map[string]string `json:"headers"`
}

// IsAPI reports whether the agent is a service: Describe does not describe it then.
func (e *Entry) IsAPI() bool { return e.API != nil }

func apiNode() shape.Node {
	return shape.ClosedOf("service, instead of command: it answers over HTTP in a known format",
		shape.Must("format", shape.One("format of the requests and answers. chat: OpenAI's chat completions, which most services and local servers speak. responses: "+
			"OpenAI's newer one. messages: Anthropic's. generate-content: Google's. These four are models, with no tools but the caller's. a2a: an agent of the Agent2Agent protocol",
			APIChat, APIResponses, APIMessages, APIGenerate, APIA2A)),
		shape.Must("url", shape.Named("address, up to and without the path of the format, as in https://host.example/v1. The variable NAME_BASE_URL, with the "+
			"agent's name in capitals and _ for -, replaces it", urlPattern)),
		shape.Opt("key", shape.Named("variable with the key, which is sent in the header of the format (absent: no key)", variablePattern)),
		shape.Opt("keyPage", shape.Named("address of the page that issues keys", urlPattern)),
		shape.Opt("headers", shape.MapOf("further headers; in a value, {NAME} is replaced by that variable, which must be set", `^[A-Za-z0-9-]+$`, shape.Text(""))))
}

// secretHeader recognizes headers whose value is a key.
var secretHeader = lazy.Regexp(`(?i)^(authorization|proxy-authorization|cookie)$|key|token|secret|signature`)

// api checks an agent that is a service.
func (c *checker) api(e *Entry) {
	stated := []string{"displayName", "docs", "api", "notes", "defaultModel", "documented"}
	for _, m := range c.root.Members {
		if !slices.Contains(stated, m.Key) && c.known(m.Key) {
			c.fault(at(m.Key), "remove it, or api", "does not apply to a service: it starts no program")
		}
	}
	if e.API.Format == APIA2A && e.DefaultModel != "" {
		c.fault(at("defaultModel"), "remove it", "does not apply to a2a: the agent chooses its model")
	}
	if e.API.URL != "" && !service.IsAddress(e.API.URL) {
		c.fault(at("api", "url"), "a URL like https://host.example/v1: a host, and no user, query or fragment", "is not the address of an API")
	}
	for name, value := range e.API.Headers {
		switch {
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
			c.fault(at("api", "headers", name), "", "contains a character that no header can have")
		case secretHeader().MatchString(name) && !strings.Contains(value, "{"):
			c.fault(at("api", "headers", name), "put the key in a variable, and write {ITS_NAME} here", "may contain a key, which belongs in no file")
		}
	}
}
