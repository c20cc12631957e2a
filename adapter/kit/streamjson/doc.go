// Package streamjson reads the stream of agents that print messages as the Messages API sends them: pieces of content blocks in
// lines of type stream_event, each of the agent itself or of one of its sub-agents, and whole messages that repeat them.
//
// It knows blocks, texts, thoughts and steps. Which line means what, and how a run begins and ends, stay with the vendor, whose
// parser embeds a Flow.
package streamjson
