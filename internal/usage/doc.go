// Package usage adds up what agents used, from the session files they keep themselves.
//
// It finds the files of all agents, has them read by the agents' adapters, as many at once as there are processors, keeps
// what was found so that the next report reads only what is new, counts every call once whatever number of files it stands
// in, and puts a price on it: the agent's own where it states one, else that of the models the agents declare.
//
// What Drawbar's own runs cost is package runstore's business, and what a line of a file means is an adapter's.
package usage
