// Package workspace is the place where files change: what a repository looked like when a turn was assigned, what changed
// since, the checkpoint commit of an accepted turn, and git worktrees for turns that get one of their own.
//
// Everything that asks git belongs here, and so does the confinement of paths to the project. It is done by the git program,
// with plumbing commands that run no hook, ask nothing and leave a person's index, staged work and uncommitted files as they
// are. What a turn may change is not decided here: see internal/governed/governance/claim.
package workspace
