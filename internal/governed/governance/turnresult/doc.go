// Package turnresult turns what an agent staged into a turn result that the protocol accepts, or says why it cannot:
// Decode parses it tolerantly, Normalize corrects what is unambiguous and lists every change, Validate checks it in the
// protocol's five stages.
//
// Requirements on a single result, judged from values, belong here. Reading the staged file belongs in
// internal/governed/project; observing changes in internal/governed/workspace and internal/governed/governance/claim;
// the consequences of an accepted result in internal/governed/governance. The package reads no file, clock or variable.
package turnresult
