// Package jsontext changes and compares the texts in JSON and in streams of JSON, for recordings: which texts count, and what they
// mean, does not belong here.
package jsontext
