package omp

import (
	"context"
	"path/filepath"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/pifile"
	"github.com/drawbar/drawbar/history"
)

var (
	_ adapter.SessionStore = Adapter{}
	_ adapter.UsageLog     = Adapter{}
)

// sessions is Oh My Pi's store: sessions/<directory>/<time>_<session>.jsonl, with a folder of its name for sub-agents and
// long outputs.
var sessions = pifile.Sessions(name, sessionRoot)

func sessionRoot(h adapter.Host) string { return home.Path(h, "sessions") }

// UsageStores returns the folder of the sessions.
func (Adapter) UsageStores(h adapter.Host) []history.UsageStore {
	return []history.UsageStore{pifile.UsageStore(filepath.ToSlash(sessionRoot(h)))}
}

// UsageVersion implements adapter.UsageLog.
func (Adapter) UsageVersion() int { return 1 }

// NewUsageScanner implements adapter.UsageLog.
func (Adapter) NewUsageScanner(_ context.Context, _ adapter.Host, f history.UsageFile) adapter.UsageScanner {
	return pifile.NewUsageScanner(name, f)
}
