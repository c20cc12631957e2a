// Package a2a is the adapter of agents that are services of the Agent2Agent protocol, version 1.0 (https://a2a-protocol.org). The
// agent's card says how it is called and what it accepts. A turn is a task: its states become the end of the turn, its artifacts and
// messages the text, its wish for input a question. A session is a context of the agent's.
//
// The agent works where it is: it sees no files, tools or settings of this machine. Drawbar asks for no push notifications.
package a2a
