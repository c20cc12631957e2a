// Package first answers "drawbar version" while packages are initialized, before those that it does not need: it imports nothing that
// is initialized late. It belongs into main.
package first

import (
	"os"
	"runtime"
	"runtime/debug"
)

func init() {
	if len(os.Args) == 2 && os.Args[1] == "version" {
		if _, err := os.Stdout.WriteString(Line()); err == nil { // otherwise the command says what is wrong
			os.Exit(0)
		}
	}
}

// version is set at build time by the linker; a build without it says so.
var version = ""

// Version is that of this program.
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// Line is what "drawbar version" prints.
func Line() string {
	return "drawbar " + Version() + " (" + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")\n"
}
