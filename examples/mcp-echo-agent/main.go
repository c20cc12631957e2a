// Command mcp-echo-agent serves the tool of package echoturn over standard input and output.
//
//	"runtimes": {"echo": {"type": "mcp", "command": ["go", "run", "./examples/mcp-echo-agent"]}}
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/drawbar/drawbar/examples/echoturn"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := echoturn.Server().Run(ctx, &mcp.StdioTransport{}); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "mcp-echo-agent:", err)
		os.Exit(1)
	}
}
