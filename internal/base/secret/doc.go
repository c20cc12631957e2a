// Package secret recognizes secrets: the names of variables, headers, options and settings that contain them, and the
// formats of well-known keys; and it removes both from texts. It is the only list of either.
//
// It knows nothing about runs, agents or Drawbar's files, and imports the standard library only.
package secret
