// Package hookrelay relays calls of an agent's hooks to the run that the agent belongs to.
//
// An agent starts a command for each hook. That command is this program in a special role: it reads the agent's input
// from standard input, passes it to the run over loopback, and prints the run's answer. It finds the run's address
// and token in a private file of the run, never in arguments or variables. Any failure on the way is a denial: the
// command exits with 2.
//
// The listener, the command and the frames between them belong here. The format of hook inputs and answers belongs to
// the adapter, and the decision to the caller.
package hookrelay
