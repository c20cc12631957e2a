package drawbar_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/adapter"
	_ "github.com/drawbar/drawbar/adapter/all"
	"github.com/drawbar/drawbar/sessions"
)

// A machine on which Claude Code was used: its sessions are listed, searched and exported, whoever ran it.
func ExampleClient_Sessions() {
	home, err := os.MkdirTemp("", "drawbar-example-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(home)
	dir := filepath.Join(home, ".claude", "projects", "-work")
	line := `{"type":"user","uuid":"1","timestamp":"2026-11-20T10:00:00Z","cwd":"/work","message":{"content":"mend the flaky test"}}` + "\n"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "5f3759df.jsonl"), []byte(line), 0o600); err != nil {
		panic(err)
	}
	host := adapter.Host{FS: os.DirFS("/"), Home: home, Getenv: func(string) string { return "" }}

	ctx := context.Background()
	client, err := drawbar.New(drawbar.Options{Host: &host, NoRecord: true})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	store, err := client.Sessions()
	if err != nil {
		panic(err)
	}
	listing, err := store.List(ctx, sessions.Query{Cwd: "/work", Limit: 10})
	if err != nil {
		panic(err)
	}
	for _, s := range listing.Sessions {
		fmt.Println(s.UnifiedID, s.Title)
	}
	found, err := store.Search(ctx, sessions.SearchQuery{Text: "FLAKY"})
	if err != nil {
		panic(err)
	}
	fmt.Println(found.Total, found.Hits[0].Snippet)
	// Output:
	// claude:5f3759df mend the flaky test
	// 1 mend the flaky test
}
