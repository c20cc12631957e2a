// Command drawbar drives coding agents through one seam.
package main

// The program and its supervisors start for every run and need few processors: looking for the quota of a container at each
// start costs more than knowing it would save.
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

import (
	"context"
	"os"

	"github.com/drawbar/drawbar"
	_ "github.com/drawbar/drawbar/adapter/all"
	"github.com/drawbar/drawbar/internal/cli/demo"
	"github.com/drawbar/drawbar/internal/cli/root"
)

func main() {
	if demo.IsAgent(os.Args, os.Getenv) {
		os.Exit(demo.Agent(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Getenv))
	}
	drawbar.Supervise()
	os.Exit(root.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
