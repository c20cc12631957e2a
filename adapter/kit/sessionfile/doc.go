// Package sessionfile is the kit for agents that keep conversations in files of JSON lines: it finds the files, reads
// heads, tails and whole files, collects messages, and converts new lines to events. An adapter's Decoder interprets
// the lines.
//
// Vendors' locations, fields and file names do not belong here, nor do indexes, searches and exports, which belong to
// the product. This package writes nothing.
package sessionfile
