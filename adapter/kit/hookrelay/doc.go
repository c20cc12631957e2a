// Package hookrelay carries the calls of an agent's hooks to the run that the agent belongs to.
//
// An agent starts a command for each of its hooks. That command is this program itself, in a role of its own: it reads what the
// agent says from standard input, hands it to the run over loopback, and gives the agent the run's answer. Where and with
// which token it finds the run stands in a private file of the run, never in arguments or variables. Whatever goes wrong
// on the way is a denial: the command exits with 2, which every agent takes for one.
//
// What belongs here: the listener, the command, the frame between them. What does not: what an agent says in its hooks and
// how it is answered, which its adapter knows, and what is allowed, which the caller decides.
package hookrelay
