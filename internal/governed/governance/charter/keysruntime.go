package charter

import (
	"iter"
	"slices"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/shape"
)

// RuntimeTypes are the types a runtime may have; the last is Drawbar's own.
func RuntimeTypes() []string {
	return []string{protocol.RuntimeManual, protocol.RuntimeLocalCLI, protocol.RuntimeAPIProxy, protocol.RuntimeMCP,
		protocol.RuntimeRemoteAgent, protocol.RuntimeAgent}
}

// Providers are the providers of api_proxy.
func Providers() []string { return []string{"anthropic", "openai", "google", "ollama"} }

// Adapters are the adapters of the first edition that need no declaration.
func Adapters() []string {
	return []string{protocol.RuntimeManual, protocol.RuntimeLocalCLI, protocol.RuntimeAPIProxy}
}

func runtimeNode() shape.Node {
	return object("a runtime; which keys count depends on type",
		must("type", one("how the work is done", RuntimeTypes()...)),
		key("capabilities", object("what this runtime can do, where it differs from its type",
			key("can_write_files", one("how it writes", "direct", "proposal_only", "tool_defined", "unknown")),
			key("proposal_support", one("whether it proposes", "none", "optional", "native", "tool_defined", "unknown")),
			key("workflow_artifact_ownership", one("whether its roles may own files of the kit", "yes", "no", "proposal_apply_required", "tool_defined", "unknown")),
		)),
		key("command", words("local_cli, mcp: the program, with its arguments when it is a list")),
		key("args", listOfTexts("local_cli, mcp: arguments, when command is a string")),
		key("cwd", str("local_cli, mcp: folder it runs in, relative to the project (absent: where the turn works)")),
		key("prompt_transport", one("local_cli: how the prompt reaches it; without it argv when {prompt} stands in the command, else dispatch_bundle_only",
			protocol.TransportArgv, protocol.TransportStdin, protocol.TransportBundleOnly)),
		key("startup_watchdog_ms", whole("local_cli, agent: as in run_loop, in milliseconds (absent: that of run_loop)", 1)),
		key("startup_heartbeat_ms", whole("local_cli, agent: as in run_loop, in milliseconds (absent: that of run_loop)", 1)),
		key("liveness_heartbeat_ms", whole("local_cli, agent: as in run_loop, in milliseconds (absent: that of run_loop)", 1)),
		key("env", texts("local_cli, agent: further variables; ${VAR} is taken from the environment and never written")),
		key("timeout_ms", whole("local_cli, agent: limit of a turn; remote_agent: of a request; milliseconds (absent: timeouts, else 1200000)", 1)),
		key("agent", named("agent: an adapter of Drawbar, as in drawbar agents", agentPattern)),
		key("model", str("agent, api_proxy: the model (absent: the agent's own default; api_proxy must have it)")),
		key("session", one("agent: one conversation per role, or a new one per turn", "role", "turn").Def("turn")),
		key("approve", one("agent: what happens when it asks for a permission: a person at the terminal is asked (the turn is blocked where there is none), "+
			"everything is allowed, everything is refused", protocol.ApprovePrompt, protocol.ApproveYolo, protocol.ApproveDeny).Def(protocol.ApprovePrompt)),
		key("result", one("agent: how the result comes: as a file it writes, or as structured output", "staged", "structured").Def("staged")),
		key("thinking", one("agent: how hard it is to think (absent: the agent's own)", "low", "medium", "high", "max")),
		key("sandbox", one("agent: which sandbox of its own it works in (absent: its default)", "read-only", "workspace-write", "none")),
		key("budget_usd", dollars("agent: limit of a turn in US dollars (absent: none)")),
		key("idle_timeout_ms", whole("agent: limit of silence in milliseconds (absent: stale_turn_threshold_ms of run_loop)", 1)),
		key("poll_interval_ms", whole("manual: how often the staged file is looked for, in milliseconds (absent: 2000)", 1)),
		key("provider", one("api_proxy: who serves the model", Providers()...)),
		key("auth_env", str("api_proxy: variable that has the key; ollama needs none")),
		key("base_url", str("api_proxy: the whole endpoint, in place of the provider's")),
		key("max_output_tokens", whole("api_proxy: limit of an answer", 1).Def(4096)),
		key("timeout_seconds", shape.Above("api_proxy: limit of a request", 0).Def(120)),
		key("context_window_tokens", whole("api_proxy: size of the model's window", 1)),
		key("retry_policy", *retryNode()),
		key("preflight_tokenization", *preflightNode()),
		key("transport", one("mcp: how the server is reached", "stdio", "streamable_http").Def("stdio")),
		key("tool_name", str("mcp: the tool that takes a turn").Def("agentxchain_turn")),
		key("url", str("mcp, remote_agent: address, http or https")),
		key("headers", texts("mcp, remote_agent: headers, sent as they are")),
	)
}

func listOfTexts(doc string) shape.Node { return list(doc, str("").AnyText()) }

func retryNode() *shape.Node {
	n := closed("api_proxy: what happens after a fault that may pass",
		key("enabled", flag("only true switches it on")),
		key("max_attempts", whole("attempts in total", 1).Def(3)),
		key("base_delay_ms", shape.AtLeast("first pause", 0).Def(1000)),
		key("max_delay_ms", shape.AtLeast("longest pause", 0).Def(8000)),
		key("backoff_multiplier", shape.Above("growth of pauses", 0).Def(2)),
		key("jitter", one("whether pauses vary", "none", "full").Def("full")),
		key("retry_on", list("classes of faults", one("a class", "rate_limited", "network_failure", "timeout", "response_parse_failure",
			"turn_result_extraction_failure", "unknown_api_error", "provider_overloaded"))),
	)
	return &n
}

func preflightNode() *shape.Node {
	n := closed("api_proxy: count tokens before the request",
		key("enabled", flag("whether it is done")),
		key("tokenizer", one("how", "provider_local")),
		key("safety_margin_tokens", whole("tokens that stay free", 0).Def(2048)),
	)
	return &n
}

// adapterNode are the settings of a first-edition role.
func adapterNode(adapter string) *shape.Node {
	var n shape.Node
	switch adapter {
	case protocol.RuntimeManual:
		n = object("",
			key("poll_interval_ms", whole("how often the staged file is looked for", 1).Def(2000)),
			key("timeout_ms", whole("how long it is waited for", 1).Def(1200000)),
		)
	case protocol.RuntimeLocalCLI:
		n = object("",
			must("command", words("the program")),
			key("args", listOfTexts("its arguments")),
			key("prompt_transport", one("how the prompt reaches it", protocol.TransportStdin, protocol.TransportFile, protocol.TransportArg).Def(protocol.TransportStdin)),
			key("timeout_ms", whole("limit of a turn", 1)),
			key("env", texts("further variables; ${VAR} is taken from the environment")),
			key("cwd", str("folder it runs in, relative to the project")),
		)
	default:
		n = object("",
			must("provider", str("anthropic, openai, or custom with base_url")),
			must("model", str("the model")),
			key("max_tokens", whole("limit of an answer", 1)),
			key("temperature", shape.AtLeast("", 0).AtMost(2)),
			key("api_key_env", str("variable that has the key")),
			key("timeout_ms", whole("limit of a request", 1)),
			key("max_retries", whole("retries", 0)),
			key("base_url", str("endpoint of an API like OpenAI's")),
		)
	}
	return &n
}

// keysOf are the keys that count for a type, besides type and capabilities.
func keysOf(runtimeType string) []string {
	switch runtimeType {
	case protocol.RuntimeManual:
		return []string{"poll_interval_ms", "timeout_ms"}
	case protocol.RuntimeLocalCLI:
		return []string{"command", "args", "cwd", "prompt_transport", "startup_watchdog_ms", "startup_heartbeat_ms",
			"liveness_heartbeat_ms", "env", "timeout_ms"}
	case protocol.RuntimeAgent:
		return []string{"agent", "model", "session", "approve", "result", "thinking", "sandbox", "budget_usd", "idle_timeout_ms", "env", "timeout_ms",
			"startup_watchdog_ms", "startup_heartbeat_ms", "liveness_heartbeat_ms"}
	case protocol.RuntimeAPIProxy:
		return []string{"provider", "model", "auth_env", "base_url", "max_output_tokens", "timeout_seconds", "context_window_tokens",
			"retry_policy", "preflight_tokenization"}
	case protocol.RuntimeMCP:
		return []string{"transport", "tool_name", "command", "args", "cwd", "url", "headers"}
	case protocol.RuntimeRemoteAgent:
		return []string{"url", "headers", "timeout_ms"}
	}
	return nil
}

// typesOf are the types for which a key counts.
func typesOf(key string) []string {
	return slices.DeleteFunc(RuntimeTypes(), func(t string) bool { return !slices.Contains(keysOf(t), key) })
}

// RuntimeNeeds yields the types with the keys that each must have whatever its other keys say.
func RuntimeNeeds() iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		_ = yield(protocol.RuntimeAgent, []string{"agent"}) && yield(protocol.RuntimeAPIProxy, []string{"provider", "model"}) &&
			yield(protocol.RuntimeRemoteAgent, []string{"url"})
	}
}
