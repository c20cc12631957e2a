// Package jsonscan reads single JSON values, one line of a line protocol each, without building a tree and without
// allocating. It checks the whole line while it looks for the members a caller asked for, and hands them out as views
// of the line's own bytes; decoding happens when a caller asks a [Value] for it.
//
// What is accepted is exactly what encoding/json's Valid accepts: RFC 8259, at most [MaxDepth] nested containers, any
// bytes from 0x80 up inside strings. Decoded strings equal those of encoding/json, including U+FFFD in place of invalid
// UTF-8 and of lone surrogates. Where an object repeats a key, the last member counts.
//
// Splitting a stream into lines, writing JSON and decoding into structs do not belong here.
package jsonscan
