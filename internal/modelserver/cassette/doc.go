// Package cassette is the file of recorded exchanges with a model API: JSON lines, one exchange a line, without secrets, to be
// kept in a repository and read in review.
//
// The first line is {"cassette":1}, the version. Every other line is one exchange, in the order in which answers ended:
//
//	request  method, path (with the query, without keys), side (the kind of a side request, absent for a turn of the
//	         conversation), body (JSON, or a string if it was not JSON)
//	answer   status, header (the few that clients act on), cut (true: the connection broke there), and one of
//	         json    the whole body
//	         stream  the list of pieces as they are sent: one event of an event stream, or one line
//	         text    a body that is no JSON
//	         base64  a body that is no text
//
// Lines may be edited, moved and deleted by hand. A file is appended to in whole lines, so that a recorder that is killed leaves
// a file of everything that ended before.
//
// What a request means, and which one matches another, does not belong here: package modelserver decides that.
package cassette
