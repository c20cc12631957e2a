// Package archtest keeps the import rules of the rooms: rules.txt says what every package may import, and its test fails on
// an import that is not allowed, on a package without a rule, and on a rule or allowance that nothing uses. A line that begins
// with ! says what packages do without: imports, and functions such as the clock's.
//
// Rules about anything but imports and what is used of them do not belong here.
package archtest
