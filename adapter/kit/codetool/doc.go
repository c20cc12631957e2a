// Package codetool is the tools of an agent that works on a folder: read, list, search, write, edit, patch and shell. Files are
// confined to the folder and to extra folders that may only be read; no link, no ".." and no absolute path leads out. A command of
// shell is not confined: whoever must confine it does not offer it.
//
// How a model calls tools, and who is asked for permission, belongs to modelapi.
package codetool
