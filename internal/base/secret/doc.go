// Package secret knows what secrets look like: the names of variables, headers, options and settings that hold one, the
// shapes of well-known keys, and how to take both out of a text. It is the only list of either.
//
// It knows nothing of runs, agents or files of Drawbar, and imports the standard library only.
package secret
