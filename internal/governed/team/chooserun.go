package team

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
)

// chooseRun returns the run to continue: the requested one, the current one of this clone, or one in progress on the remote that continues this
// record. It is empty if there is no run.
func (x *exchange) chooseRun(ctx context.Context, st protocol.State) (string, error) {
	own := st.ID()
	if run := x.o.sync.Run; run != "" {
		if x.refs[run] == "" && run != own {
			there := "no run"
			if len(x.refs) > 0 {
				there = strings.Join(slices.Sorted(maps.Keys(x.refs)), ", ")
			}
			return "", execution.Errorf(execution.CodeSessionNotFound, "%s has no run %s, but %s", x.t.o.Remote, run, there).WithHint("drawbar govern sync")
		}
		return run, nil
	}
	if own != "" && st.Status != protocol.RunCompleted {
		return own, nil
	}
	others := slices.Sorted(maps.Keys(x.refs))
	others = slices.DeleteFunc(others, func(run string) bool { return run == own })
	if err := x.fetch(ctx, others); err != nil {
		return "", err
	}
	var open []string
	newest, last := own, st.CompletedAt.String()
	mine, err := os.ReadFile(filepath.Join(x.t.o.Root, filepath.FromSlash(protocol.ChainFile)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", execution.Errorf(execution.CodeConfig, "read the record: %w", err)
	}
	for _, run := range others {
		s, err := load(ctx, x.w, x.refs[run])
		if err != nil {
			return "", fmt.Errorf("the record of run %s on %s: %w", run, x.t.o.Remote, err)
		}
		content, err := x.w.Contents(ctx, blobsOf(s.files, []string{protocol.StateFile, protocol.ChainFile}))
		if err != nil {
			return "", err
		}
		var there protocol.State
		if err := json.Unmarshal(content[0], &there); err != nil {
			return "", execution.Errorf(execution.CodeValidation, "the state of run %s on %s: %w", run, x.t.o.Remote, err)
		}
		if !bytes.HasPrefix(content[1], mine) {
			continue // it does not continue this record
		}
		if there.Status != protocol.RunCompleted {
			open = append(open, run)
		} else if at := there.CompletedAt.String(); newest == "" || at > last {
			newest, last = run, at
		}
	}
	switch {
	case len(open) > 1:
		return "", execution.Errorf(execution.CodeInvalidStateTransition, "%s has %d runs in progress: %s", x.t.o.Remote, len(open), strings.Join(open, ", ")).
			WithHint("drawbar govern sync --run %s", open[0])
	case len(open) == 1:
		return open[0], nil
	}
	return newest, nil
}
