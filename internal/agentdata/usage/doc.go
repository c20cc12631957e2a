// Package usage adds up what agents used, from the session files they keep themselves.
//
// It finds the files of all agents, has them read by the agents' adapters, as many at once as there are processors, keeps
// what was found so that the next report reads only what is new, counts every call once whatever number of files it stands
// in, and puts a price on it: the agent's own where it states one, else that of the models the agents declare.
//
// # Beside ccusage
//
// On the files of bench/usagecorpus the tokens by day and model equal those of ccusage 20.0.24, and so does the cost where
// both know a model's price. What is known to differ:
//
//   - What Claude states of a session's cost is used; ccusage estimates all. Models without a price are unpriced here, there
//     they cost nothing. Prices that depend on the length of the prompt are not in the models' prices here.
//   - Claude's answers without a request id, as gateways give them, are copies here when session, message and prompt are the
//     same; there when session, message and time are. Usage whose cache_creation has zeros beside a sum of writes counts
//     that sum, which is what Claude itself charges; there nothing.
//   - Of copies of a call with the same tokens the earliest counts; there the one in the first file by name.
//   - The first call of a Codex fork, which repeats none of its parent's lines, counts; there it may be left out. So do calls
//     that a rollout states by response only, and compressed rollouts.
//   - Qwen's cached tokens are not input tokens too, and its calls for sub-agents and side requests count. Gemini's thoughts
//     are output.
//   - Copilot's calls count as they are made; there with the session's end.
//
// What Drawbar's own runs cost is package runstore's business, and what a line of a file means is an adapter's.
package usage
