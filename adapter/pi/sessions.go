package pi

import (
	"cmp"
	"context"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/pifile"
	"github.com/drawbar/drawbar/history"
)

var (
	_ adapter.SessionStore = Adapter{}
	_ adapter.UsageLog     = Adapter{}
)

// sessions is Pi's store: sessions/--<directory>--/<time>_<session>.jsonl. In a folder that the user chose there are no
// folders of directories.
var sessions = pifile.Sessions(name, sessionRoot)

func sessionRoot(h adapter.Host) string {
	return cmp.Or(h.Getenv("PI_CODING_AGENT_SESSION_DIR"), home.Path(h, "sessions"))
}

// UsageStores returns the folder of the sessions.
func (Adapter) UsageStores(h adapter.Host) []history.UsageStore {
	return []history.UsageStore{pifile.UsageStore(sessionRoot(h))}
}

// UsageVersion implements adapter.UsageLog.
func (Adapter) UsageVersion() int { return 1 }

// NewUsageScanner implements adapter.UsageLog.
func (Adapter) NewUsageScanner(_ context.Context, _ adapter.Host, f history.UsageFile) adapter.UsageScanner {
	return pifile.NewUsageScanner(name, f)
}
