// Package declared makes what an agent does beside its runs from a table: skills, sub-agents, hooks in its own files, plugins, the
// look for an installation and for a login. An adapter embeds the parts that its agent has, and has functions only where the agent
// is odd. What happens within a run belongs to the kits of runs.
package declared
