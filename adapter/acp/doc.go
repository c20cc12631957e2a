// Package acp runs any agent that speaks the Agent Client Protocol: the program that the request names (Run.Command).
//
// Everything about the protocol is in package acpagent. Here is only what is known of an agent nobody knows: nothing of its
// flags, files and words, and of its abilities what the protocol demands of every agent. What it can do besides, it says when it
// has started; a request that needs more is refused then, before anything is said to a model.
package acp
