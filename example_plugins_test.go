package drawbar_test

import (
	"context"
	"fmt"
	"log"

	"github.com/drawbar/drawbar"
	_ "github.com/drawbar/drawbar/adapter/all"
	"github.com/drawbar/drawbar/settings"
)

// Plugins are installed with the agent's own command, for the user or for one project.
func ExampleClient_Plugins() {
	c, err := drawbar.New(drawbar.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	found, err := c.Plugins().Search(ctx, "claude", drawbar.PluginQuery{Text: "review", Limit: 5})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range found {
		fmt.Println(p.PluginID, p.LatestVersion, p.Description)
	}
	if len(found) > 0 {
		p, err := c.Plugins().Install(ctx, "claude", found[0].PluginID, settings.PluginOptions{Scope: settings.Project, Dir: "/work/project"})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("installed", p.PluginID, p.Version)
	}
}
