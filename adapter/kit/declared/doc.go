// Package declared implements what an agent offers besides runs from a table: skills, sub-agents, native hooks,
// plugins, and detection of its installation and login. An adapter embeds the parts its agent has and writes
// functions only where the agent differs. Runs belong to the kits of runs.
package declared
