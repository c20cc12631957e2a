package charter

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/lazy"
	"github.com/drawbar/drawbar/internal/base/near"
	"github.com/drawbar/drawbar/internal/base/shape"
)

func (k *checker) adapters() {
	for name, a := range k.c.Adapters.All() {
		field, doc := shape.Path("adapters", name), k.doc.Get("adapters").Get(name)
		if slices.Contains(RuntimeTypes(), name) || name == "" {
			k.invalid(field, "choose another name", "is not a name for a custom adapter: the type %q is built in", name)
		}
		if doc == nil || doc.Kind != "object" {
			continue // already reported
		}
		switch module, command := doc.Get("module").Is(), doc.Get("command").Is(); {
		case module && command:
			k.invalid(field, "remove one of them", "has both a module and a command")
		case !module && !command:
			k.missing(shape.Path(field, "module"), "a JavaScript module, or command: a program that speaks the protocol of adapters")
		}
		k.path(shape.Path(field, "module"), a.Module)
	}
}

func (k *checker) runtimes() {
	for id, rt := range k.c.Runtimes.All() {
		field, doc := shape.Path("runtimes", id), k.doc.Get("runtimes").Get(id)
		custom := k.c.Adapters.Has(rt.Type)
		if doc == nil || rt.Type == "" {
			continue
		}
		if !custom && !slices.Contains(RuntimeTypes(), rt.Type) {
			valid := append(RuntimeTypes(), k.c.Adapters.Keys()...)
			hint := "one of " + strings.Join(RuntimeTypes(), ", ") + ", or a name in adapters"
			if meant := near.Word(rt.Type, valid); meant != "" {
				hint = "did you mean " + meant + "?"
			}
			k.add(Problem{Type: InvalidValue, Field: shape.Path(field, "type"), Message: fmt.Sprintf("cannot be %q", rt.Type), Hint: hint, Detail: map[string]any{"valid_values": valid}})
			continue
		}
		for _, m := range doc.Members {
			if m.Value.Kind == "null" || slices.Contains(keysOf(rt.Type), m.Key) || custom && slices.Contains(customKeys(), m.Key) {
				continue
			}
			types := typesOf(m.Key)
			if slices.Contains(customKeys(), m.Key) {
				types = append(types, "custom adapters")
			}
			if len(types) > 0 {
				k.warn(UnusedKey, shape.Path(field, m.Key), "", "has no effect on a runtime of type %s; it is for %s", rt.Type, strings.Join(types, ", "))
			}
		}
		switch rt.Type {
		case protocol.RuntimeLocalCLI:
			k.localCLI(field, doc, rt)
		case protocol.RuntimeAgent:
			if rt.Agent == "" && !doc.Has("agent") {
				k.missing(shape.Path(field, "agent"), "an adapter of Drawbar: see drawbar agents")
			}
		case protocol.RuntimeAPIProxy:
			k.apiProxy(field, doc)
		case protocol.RuntimeMCP:
			k.mcp(field, doc)
		case protocol.RuntimeRemoteAgent:
			k.need(field, doc, "url", "the address of the agent")
			k.address(shape.Path(field, "url"), doc.Get("url").Str())
		}
		if own := rt.Capabilities; own != nil && own.CanWriteFiles == "direct" && protocol.Remote(rt.Type) {
			k.warn(InvalidValue, shape.Path(field, "capabilities", "can_write_files"), "", "says direct, but %s writes no files here", rt.Type)
		}
	}
}

func (k *checker) localCLI(field string, doc *shape.Value, rt protocol.Runtime) {
	if rt.Command.IsZero() && !doc.Has("command") {
		k.warn(MissingField, shape.Path(field, "command"), "a turn on it is refused", "is missing")
	}
	k.command(field, doc, "args")
	if rt.PromptTransport != protocol.TransportArgv || rt.Command.IsZero() {
		return
	}
	parts := rt.Command.List
	if rt.Command.String {
		parts = append(slices.Clone(parts), rt.Args...)
	}
	if !slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(p, "{prompt}") }) {
		k.invalid(shape.Path(field, "prompt_transport"), "add {prompt} where the prompt belongs, or use stdin or dispatch_bundle_only",
			"is argv, but neither command nor args contains {prompt}")
	}
}

// command warns about arguments that are ignored.
func (k *checker) command(field string, doc *shape.Value, args string) {
	if c := doc.Get("command"); c != nil && c.Kind == "array" && doc.Has(args) && k.c != nil && !strings.HasPrefix(field, "roles") {
		k.warn(UnusedKey, shape.Path(field, args), "append them to command", "has no effect when command is a list")
	}
}

func (k *checker) need(field string, doc *shape.Value, key, hint string) {
	if v := doc.Get(key); !v.Is() {
		k.missing(shape.Path(field, key), hint)
	}
}

// address checks an absolute URL of http or https.
func (k *checker) address(field, s string) {
	if strings.TrimSpace(s) == "" {
		return // a missing or blank one is already reported
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		k.invalid(field, "an absolute http or https address", "is not a valid URL")
		return
	}
	if u.User != nil {
		k.warn(InvalidValue, field, "read the key from a variable", "contains credentials, and this file is committed")
	}
}

func (k *checker) apiProxy(field string, doc *shape.Value) {
	k.need(field, doc, "provider", "one of "+strings.Join(Providers(), ", "))
	k.need(field, doc, "model", "the model")
	if doc.Get("provider").Str() != "ollama" {
		k.need(field, doc, "auth_env", "the name of the variable with the API key")
	}
	k.variable(shape.Path(field, "auth_env"), doc.Get("auth_env"))
	k.address(shape.Path(field, "base_url"), doc.Get("base_url").Str())
	if r := doc.Get("retry_policy"); r != nil {
		base, okBase := number(r.Get("base_delay_ms"))
		most, okMost := number(r.Get("max_delay_ms"))
		if okBase && okMost && most < base {
			k.invalid(shape.Path(field, "retry_policy", "max_delay_ms"), "", "is less than base_delay_ms")
		}
	}
	if p := doc.Get("preflight_tokenization"); p != nil && string(p.Get("enabled").Raw()) == "true" {
		if provider := doc.Get("provider").Str(); provider != "anthropic" {
			k.invalid(shape.Path(field, "preflight_tokenization", "enabled"), "only anthropic has one", "there is no tokenizer for %s", provider)
		}
		window, ok := number(doc.Get("context_window_tokens"))
		if !ok {
			window = 200_000
		}
		out, okOut := number(doc.Get("max_output_tokens"))
		if !okOut {
			out = 4096
		}
		margin, okMargin := number(p.Get("safety_margin_tokens"))
		if !okMargin {
			margin = 2048
		}
		if window <= out+margin {
			k.invalid(shape.Path(field, "context_window_tokens"), "", "is too small: it must exceed max_output_tokens plus safety_margin_tokens (%v)", out+margin)
		}
	}
}

// variable checks the name of a variable. An invalid name may be the key itself, so the message does not repeat it.
func (k *checker) variable(field string, v *shape.Value) {
	if s := v.Str(); strings.TrimSpace(s) != "" && !variableName().MatchString(s) {
		k.invalid(field, "write the name of the variable with the API key, not the key itself", "is not a valid variable name")
	}
}

var variableName = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

func number(v *shape.Value) (float64, bool) {
	if v == nil || v.Kind != "number" {
		return 0, false
	}
	x, ok := decodeRaw[float64](v.Text)
	return x, ok
}

func (k *checker) mcp(field string, doc *shape.Value) {
	refused := []string{"url", "headers"}
	transport := doc.Get("transport").Str()
	switch transport {
	case "streamable_http":
		refused = []string{"command", "args", "cwd", "env"}
		k.need(field, doc, "url", "the URL of the server")
		k.address(shape.Path(field, "url"), doc.Get("url").Str())
	case "", "stdio":
		transport = "stdio"
		k.need(field, doc, "command", "the server's program")
		k.command(field, doc, "args")
	default:
		return // already reported
	}
	for _, key := range refused {
		if doc.Has(key) {
			k.add(Problem{Type: UnusedKey, Field: shape.Path(field, key), Message: "is not allowed with transport " + transport, Hint: "remove it, or change transport"})
		}
	}
}
