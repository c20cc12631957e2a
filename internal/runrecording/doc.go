// Package runrecording records what agents do in runs, and answers runs from a recording as if the agents ran: for tests, without
// agents, models and keys. What package agent makes of it (order, usage, limits, the result) is made again at the replay.
//
// A recording is a file of JSON lines. The first is {"recording":1}; every run is a block of lines after it:
//
//	run        request (what was asked for: agent, prompt, options; without ids, times, environment and the working directory),
//	           cwd, version (of the agent's program)
//	execution  the agent is started: agent, sessionUsage (tokens of the session before)
//	event      what the adapter yields, in the form of "drawbar run --json"
//	command    what the adapter receives: say, answer, or endInput
//	tool       a tool of the caller is called: call, result or failure
//	hook       the caller's hook decides on a tool call: call, result
//	used       the tokens that the session's file stated: agent, session, usage
//	end        the run has ended: status
//
// A block is appended with one write when its run ends, without the secrets of the run. Files that an agent changed are not in it.
//
// The record of runs, which drawbar logs shows, is package runstore.
package runrecording
