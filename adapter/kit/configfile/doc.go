// Package configfile edits single values of configuration files and preserves every other byte: comments, key order,
// unknown keys, indentation, line endings, a byte order mark.
//
// A Document is one file's text. Set, Merge and Unset edit the text at the value's position, then parse the result
// and compare it with the expected value: an edit that would change anything else is refused, and the document stays
// unchanged. Text that cannot be parsed is refused with its line and column before any edit.
//
// Reading and writing files, and the meaning of keys, do not belong here.
package configfile
