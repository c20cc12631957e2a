package conformance

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/governed/conformance"
)

// NewProtocol returns the same command in AgentXchain's spelling, "verify protocol": hidden, with its flags and
// defaults. It belongs below the command "verify".
func NewProtocol(app *cli.App) *cobra.Command {
	c := &command{app: app}
	var target, remote, format string
	var millis int
	cmd := &cobra.Command{
		Use: "protocol", Hidden: true, Short: "Run the protocol's fixtures against a target; see govern conformance", Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case remote != "" && cmd.Flags().Changed("target"):
				return cli.Usage("--target and --remote contradict each other").WithHint("give one of them")
			case format != "text" && format != "json":
				return cli.Usage("--format %s is not supported", format).WithHint("--format json")
			}
			c.timeout = time.Duration(millis) * time.Millisecond
			c.report = format == "json" && !app.JSON
			c.target = remote
			if remote == "" {
				dir, err := app.ProjectDir()
				if err != nil {
					return err
				}
				c.dir = dir
				c.target = c.path(target)
				if info, err := os.Stat(c.target); err != nil || !info.IsDir() {
					return cli.Usage("--target %s is not a folder", target).WithHint("a folder with %s", conformance.CapabilitiesFile)
				}
			}
			return c.run(cmd)
		},
	}
	f := cmd.Flags()
	f.IntVar(&c.tier, "tier", 1, "highest tier: 1, 2 or 3")
	f.StringVar(&c.surface, "surface", "", "only fixtures of this surface")
	f.StringVar(&target, "target", ".", "folder with "+conformance.CapabilitiesFile)
	f.StringVar(&remote, "remote", "", "URL of a server")
	f.StringVar(&c.token, "token", "", "bearer token for --remote (default: $"+tokenVariable+")")
	f.IntVar(&millis, "timeout", int(conformance.DefaultTimeout/time.Millisecond), "time limit for one fixture, in milliseconds")
	f.StringVar(&format, "format", "text", "text or json")
	f.StringVar(&c.suite, "suite", "", "folder with fixtures (default: Drawbar's own)")
	return cmd
}
