// Package script runs adapter scripts: programs with the three commands info, execute and health (002, Agent Adapter Interface).
//
// "SCRIPT execute CONTEXT OUTPUT" gets a task in a directory of files and leaves its result in another one; exit code 0 and the word pass
// in the file result mean success, anything else is a failure. The files that it leaves are copied into the working directory if the task
// declares them. The contract has no events, sessions, usage or questions.
package script
