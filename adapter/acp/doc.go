// Package acp runs any agent that speaks the Agent Client Protocol: the program that the request names (Run.Command).
//
// Package acpagent implements the protocol. This package describes an unknown agent: no flags, files and names, and
// only the capabilities that the protocol demands. The agent declares further capabilities when it starts; a request
// that needs missing ones is then refused before anything is sent to a model.
package acp
