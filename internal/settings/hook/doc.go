// Package hook holds the registrations of hooks and carries them out: what hooks.json says, which registrations a call is
// for, the commands that answer it, and how their answers become one.
//
// What belongs here: our own files and commands. What does not: how an agent calls hooks and wants to be answered, which its
// adapter knows.
package hook
