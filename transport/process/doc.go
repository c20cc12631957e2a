// Package process starts agent processes, moves their bytes and ends them with everything they left behind.
//
// It belongs here when it would be the same for any program: pipes, whole lines, queued input, signals, the end of a
// process tree. It does not belong here when it names a vendor, an event or a result.
//
// # The keeper
//
// On Linux every run has a keeper: the current executable, started again, that does nothing but hold the agent. It is
// the subreaper of all the agent starts, so a descendant that makes its own session, forks twice or drops its
// environment still becomes the keeper's child. When the run ends, or the control socket says that the host program is
// gone, however it died, the keeper freezes, kills and reaps whatever is left.
//
// A program that wants this calls MaybeKeeper as the first statement of main (and of TestMain):
//
//	func main() {
//		process.MaybeKeeper()
//		...
//	}
//
// The initialization of the packages the program imports runs before that call, in the keeper too: it must not write
// to standard output, start processes or take long. A program that never calls MaybeKeeper works without a keeper; so
// does every other platform. Then the tree is found by parent process id and by the variable DRAWBAR_RUN_MARK, which is
// added to the environment of the agent (on Linux by a resource limit as well): best effort, and nothing at all when
// the host program is killed. On Windows a job object that is closed with the host program holds the tree.
package process
