// Package modelserver are model servers for tests: HTTP servers on loopback that speak the wire formats of four LLM APIs. A Server
// answers from a script instead of a model. A Recorder passes requests to the real APIs and records the exchanges in a cassette, and a
// Replayer answers from it.
//
// They speak Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and Google Gemini, streaming and not, so
// that a real agent program or an API client can be run without a network, a key or a cost, and with the failures a
// real service shows now and then: error statuses, retry-after, hanging, cut and unreadable answers, delays.
//
// What belongs here: the script and its faults, the translation of a scripted turn to each wire, the decision
// whether a request is a turn of the conversation or a side request of the program, and whether it is the same as a recorded
// one, the log of what was received. What does not: the file of a recording (package cassette), anything that knows an agent's
// command line or starts a process.
//
// # Script
//
// A script is one JSON object. Unknown and repeated keys are faults, and all faults are reported together.
//
//	turns        list of turns, see below
//	onExhausted  what a request gets when no turn is left for it: "error" (default), "last" or "text:SOME TEXT"
//	defaults     {"usage": {...}, "model": "name reported instead of the requested one"}
//	side         the answer to side requests: text, usage, status, error, retryAfter, headers, delayMs;
//	             "contains": list of texts that make any request a side request
//	scripts      further scripts by id, each with turns and onExhausted and, if they differ, defaults and side
//
// A request chooses a script by the header x-script-id or by a path that starts with /s/ID; each script counts
// separately. A turn has these keys, all optional, although an empty turn is a fault:
//
//	text           what the model says
//	thinking       what it thinks before that
//	tools          calls it makes after it: [{"name", "input", "namespace", "custom"}]; a custom call has a string input
//	usage          {"input", "output", "cacheRead", "cacheWrite", "thinking"}; input excludes both cache counts and
//	               output includes thinking, on every wire
//	chunks         number of pieces the text is streamed in, or the list of the pieces
//	delayMs        wait before answering
//	chunkDelayMs   wait before each streamed piece of text, thinking or tool input
//	status, error, retryAfter   answer with this HTTP status, {"type", "message"} and retry-after header (seconds)
//	headers        response headers
//	hang           true: never answer; "mid-text" or a number of text pieces: stop there and keep the connection open
//	cut            true, "mid-text" or a number of text pieces: close the connection there
//	garbage        true or a body: status 200 with a body that no client of the wire can read
//	match          {"contains", "model", "system"}: the turn is for matching requests only. contains and system are
//	               parts of the text since the model's last answer and of the system prompt; model is a whole name in
//	               which * stands for anything
//	repeat         true: used for ever; a number: used that often
//	stopReason     instead of the natural one; end_turn, max_tokens, tool_use and refusal are translated
//
// The first turn in order that is not used up and matches is used.
package modelserver
