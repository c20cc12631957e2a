// Package hook runs registered hooks: it reads hooks.json, selects the registrations for a call, runs their
// commands, and combines their answers.
//
// It handles Drawbar's own files and commands. How an agent calls hooks and expects answers is its adapter's
// task.
package hook
