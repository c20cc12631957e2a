// Package config is Drawbar's own configuration: what runs use where a request says nothing. Layers lie over each other,
// the upper one wins: flags, environment, the project's file, the user's file, defaults. Of each value it is known which
// layer it came from.
//
// The files are JSON with comments: config.json in the user's configuration directory, and .drawbar/config.json in a
// project. A project's file comes with somebody's repository, so it may not approve, start or reveal anything by itself.
// Configuration files of agents do not belong here.
package config
