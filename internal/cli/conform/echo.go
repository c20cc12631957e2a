package conform

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/internal/cli"
)

// Hidden is the name of the command that runs the suite's MCP server.
const Hidden = "__echo-mcp"

// NewEcho returns the MCP server that the suite attaches to an agent. Its only tool returns its input.
func NewEcho(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: Hidden, Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: app.Version}, nil)
			type in struct {
				Text string `json:"text"`
			}
			mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "returns the text"}, func(_ context.Context, _ *mcp.CallToolRequest, v in) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "echo: " + v.Text}}}, nil, nil
			})
			return s.Run(cmd.Context(), &mcp.StdioTransport{})
		},
	}
}
