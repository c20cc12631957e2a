package charter

import (
	"net/url"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/lazy"
)

func (k *checker) runtimes() {
	for id, rt := range k.c.Runtimes.All() {
		field, doc := Path("runtimes", id), k.doc.get("runtimes").get(id)
		if doc == nil || !slices.Contains(RuntimeTypes(), rt.Type) {
			continue
		}
		for _, m := range doc.members {
			if types := typesOf(m.key); m.v.kind != "null" && len(types) > 0 && !slices.Contains(keysOf(rt.Type), m.key) {
				k.warn(UnusedKey, Path(field, m.key), "", "has no effect on a runtime of type %s; it is for %s", rt.Type, strings.Join(types, ", "))
			}
		}
		switch rt.Type {
		case protocol.RuntimeLocalCLI:
			k.localCLI(field, doc, rt)
		case protocol.RuntimeAgent:
			if rt.Agent == "" && !doc.has("agent") {
				k.missing(Path(field, "agent"), "an adapter of Drawbar: see drawbar agents")
			}
		case protocol.RuntimeAPIProxy:
			k.apiProxy(field, doc)
		case protocol.RuntimeMCP:
			k.mcp(field, doc)
		case protocol.RuntimeRemoteAgent:
			k.need(field, doc, "url", "the address of the agent")
			k.address(Path(field, "url"), doc.get("url").str())
		}
		if own := rt.Capabilities; own != nil && own.CanWriteFiles == "direct" &&
			(rt.Type == protocol.RuntimeAPIProxy || rt.Type == protocol.RuntimeRemoteAgent) {
			k.warn(InvalidValue, Path(field, "capabilities", "can_write_files"), "", "says direct, but %s writes no files here", rt.Type)
		}
	}
}

func (k *checker) localCLI(field string, doc *value, rt protocol.Runtime) {
	if rt.Command.IsZero() && !doc.has("command") {
		k.warn(MissingField, Path(field, "command"), "a turn on it is refused", "is missing: there is nothing to start")
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
		k.invalid(Path(field, "prompt_transport"), "add {prompt} where the prompt belongs, or use stdin or dispatch_bundle_only",
			"is argv, but {prompt} stands nowhere in command and args")
	}
}

// command warns about arguments that nothing reads.
func (k *checker) command(field string, doc *value, args string) {
	if c := doc.get("command"); c != nil && c.kind == "array" && doc.has(args) && k.c != nil && !strings.HasPrefix(field, "roles") {
		k.warn(UnusedKey, Path(field, args), "append them to command", "has no effect when command is a list")
	}
}

func (k *checker) need(field string, doc *value, key, hint string) {
	if v := doc.get(key); v == nil || v.kind == "null" {
		k.missing(Path(field, key), hint)
	}
}

// address checks an absolute URL of http or https.
func (k *checker) address(field, s string) {
	if strings.TrimSpace(s) == "" {
		return // missing or blank is said already
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		k.invalid(field, "an absolute http or https address", "is no address that can be called")
		return
	}
	if u.User != nil {
		k.warn(InvalidValue, field, "take the key from a variable", "has credentials in it, in a file that is committed")
	}
}

func (k *checker) apiProxy(field string, doc *value) {
	k.need(field, doc, "provider", "one of "+strings.Join(Providers(), ", "))
	k.need(field, doc, "model", "the model")
	if doc.get("provider").str() != "ollama" {
		k.need(field, doc, "auth_env", "the name of the variable that has the key")
	}
	k.variable(Path(field, "auth_env"), doc.get("auth_env"))
	k.address(Path(field, "base_url"), doc.get("base_url").str())
	if r := doc.get("retry_policy"); r != nil {
		base, okBase := number(r.get("base_delay_ms"))
		most, okMost := number(r.get("max_delay_ms"))
		if okBase && okMost && most < base {
			k.invalid(Path(field, "retry_policy", "max_delay_ms"), "", "is less than base_delay_ms")
		}
	}
	if p := doc.get("preflight_tokenization"); p != nil && string(p.get("enabled").raw()) == "true" {
		if provider := doc.get("provider").str(); provider != "anthropic" {
			k.invalid(Path(field, "preflight_tokenization", "enabled"), "only anthropic has one", "there is no tokenizer for %s", provider)
		}
		window, ok := number(doc.get("context_window_tokens"))
		if !ok {
			k.missing(Path(field, "context_window_tokens"), "preflight_tokenization needs it")
			return
		}
		out, okOut := number(doc.get("max_output_tokens"))
		if !okOut {
			out = 4096
		}
		margin, okMargin := number(p.get("safety_margin_tokens"))
		if !okMargin {
			margin = 2048
		}
		if window <= out+margin {
			k.invalid(Path(field, "context_window_tokens"), "", "leaves no room: it must be more than max_output_tokens and safety_margin_tokens together (%v)", out+margin)
		}
	}
}

// variable checks the name of a variable. What is no name may be the key itself, and is not repeated.
func (k *checker) variable(field string, v *value) {
	if s := v.str(); strings.TrimSpace(s) != "" && !variableName().MatchString(s) {
		k.invalid(field, "write the name of the variable that has the key, not the key", "is no name of a variable")
	}
}

var variableName = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (v *value) raw() []byte {
	if v == nil {
		return nil
	}
	return v.text
}

func number(v *value) (float64, bool) {
	if v == nil || v.kind != "number" {
		return 0, false
	}
	x, ok := decodeRaw[float64](v.text)
	return x, ok
}

func (k *checker) mcp(field string, doc *value) {
	refused := []string{"url", "headers"}
	transport := doc.get("transport").str()
	switch transport {
	case "streamable_http":
		refused = []string{"command", "args", "cwd"}
		k.need(field, doc, "url", "the address of the server")
		k.address(Path(field, "url"), doc.get("url").str())
	case "", "stdio":
		transport = "stdio"
		k.need(field, doc, "command", "the program that is the server")
		k.command(field, doc, "args")
	default:
		return // said already
	}
	for _, key := range refused {
		if doc.has(key) {
			k.add(Problem{Type: UnusedKey, Field: Path(field, key), Message: "may not stand beside transport " + transport, Hint: "remove it, or change transport"})
		}
	}
}
