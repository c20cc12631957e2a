package qwen

import (
	"context"
	"fmt"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
)

// nodeNote reports an outdated Node.js on PATH, for a version that needs a recent one. Installations may bring their
// own, so a missing one is not a fault.
func nodeNote(ctx context.Context, h adapter.Host, version string) string {
	if strings.HasPrefix(version, "0.15.") {
		return ""
	}
	node, err := cliagent.DetectVersion(ctx, h, "node")
	if err != nil || !node.Installed || node.Version == "" {
		return ""
	}
	if !isOldNode(node.Version) {
		return ""
	}
	return fmt.Sprintf("qwen %s needs Node.js %s or later, the one on PATH is %s: %s", version, neededNode, node.Version, nodeGuidance)
}
