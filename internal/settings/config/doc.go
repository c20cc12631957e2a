// Package config is Drawbar's own configuration: the options of runs that a request does not state. Layers
// override each other in this order: flags, environment, the project's file, the user's file, defaults. The
// layer of every value is known.
//
// The files are JSON with comments: config.json in the user's configuration directory, and .drawbar/config.json
// in a project. A project's file comes with a repository, so it cannot approve, start or reveal anything by
// itself. The agents' configuration files are not part of this package.
package config
