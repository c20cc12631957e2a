// Package turnresult makes of what an agent staged a turn result that the protocol accepts, or says why not: Decode reads it
// tolerantly, Normalize mends what is unambiguous and lists every change, Validate checks it in the protocol's five stages.
//
// What one result must satisfy, judged from values, belongs here. Reading the staged file belongs in internal/governed/project; what
// really changed in the workspace in internal/governed/workspace and internal/governed/governance/claim; what an accepted result does to a run in
// internal/governed/governance. Nothing here reads a file, a clock or a variable.
package turnresult
