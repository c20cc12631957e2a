// Package sessionfile is the kit for agents that keep their conversations in files of lines, one JSON object a line: it
// finds the files, reads heads, tails and whole files, collects messages, and turns lines into events as they come. What
// a line means is an adapter's Decoder.
//
// Vendors' places, fields and file names do not belong here, and neither do indexes, searches and exports: those are the
// product's. Nothing here writes.
package sessionfile
