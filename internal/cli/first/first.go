// Package first answers "drawbar version" during package initialization, before the packages of the other commands are initialized.
// It imports nothing that is initialized late.
package first

import (
	"os"
	"runtime"
	"runtime/debug"
)

func init() {
	if len(os.Args) == 2 && os.Args[1] == "version" {
		if _, err := os.Stdout.WriteString(Line()); err == nil { // otherwise the command reports the error
			os.Exit(0)
		}
	}
}

// version is set by the linker at build time.
var version = ""

// Version returns the version of this program.
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// Line returns the output of "drawbar version".
func Line() string {
	return "drawbar " + Version() + " (" + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")\n"
}
