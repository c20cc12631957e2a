// Package configfile changes single values of configuration files and leaves every other byte alone: comments, the order
// of keys, keys nobody knows, indentation, line ends, a byte order mark.
//
// A Document is one file's text. Set, Merge and Unset edit the text at the place of the value, then read the result again
// and compare it with what was asked for: an edit that would change anything else is refused, and the document stays as it
// was. What cannot be parsed is refused with its line and column before anything is edited.
//
// Reading and writing files, and what their keys mean, do not belong here.
package configfile
