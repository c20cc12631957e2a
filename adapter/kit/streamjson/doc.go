// Package streamjson parses streams of the Messages API's format: pieces of content blocks in lines of type
// stream_event, from the agent or one of its sub-agents, and whole messages that repeat them.
//
// It handles blocks, texts, thinking and steps. Other lines and the start and end of a run belong to the vendor,
// whose parser embeds a Flow.
package streamjson
