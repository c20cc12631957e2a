// Package workspace handles the files of a project: the state of a repository when a turn was assigned, what
// changed since, the checkpoint commit of an accepted turn, and git worktrees for turns that have their own.
//
// All use of git is in this package, and so is the confinement of paths to the project. It runs git's plumbing
// commands, which run no hook, ask nothing and preserve a person's index, staged work and uncommitted files.
// What a turn may change is decided in internal/governed/governance/claim.
package workspace
