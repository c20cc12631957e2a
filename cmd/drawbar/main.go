//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Command drawbar drives coding agents through one seam.
//
// The program and its supervisors start for every run and need few processors, so they do not follow the CPU quota of a container.
package main

import (
	"context"
	"os"

	"github.com/drawbar/drawbar"
	_ "github.com/drawbar/drawbar/adapter/all"
	"github.com/drawbar/drawbar/internal/cli/demo"
	_ "github.com/drawbar/drawbar/internal/cli/first/ahead"
	_ "github.com/drawbar/drawbar/internal/cli/first/relay"
	"github.com/drawbar/drawbar/internal/cli/root"
)

func main() {
	if demo.IsAgent(os.Args, os.Getenv) {
		os.Exit(demo.Agent(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Getenv))
	}
	drawbar.Supervise()
	os.Exit(root.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
