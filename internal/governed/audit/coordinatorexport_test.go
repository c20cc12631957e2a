package audit

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/govern/protocol"
)

// TestCheckCoordinatorNamesWhatIsGone: neither the state nor the history of a run can be left out of its export.
func TestCheckCoordinatorNamesWhatIsGone(t *testing.T) {
	t.Parallel()
	chained := func(history, state []byte) error {
		if len(history) == 0 && len(state) > 0 {
			return errors.New("no history")
		}
		return nil
	}
	all := map[string]string{protocol.CoordinatorConfigFile: `{"project":{"id":"p"}}`, protocol.CoordinatorStateFile: `{"super_run_id":"s","status":"active","phase":"build"}`,
		protocol.CoordinatorHistoryFile: "{}\n"}
	for without, want := range map[string]string{"": "", protocol.CoordinatorStateFile: protocol.CoordinatorStateFile + ": it is missing, but the summary names a run",
		protocol.CoordinatorHistoryFile: "no history"} {
		e := CoordinatorExport{SchemaVersion: ExportVersion, ExportKind: CoordinatorExportKind, ExportedAt: "2026-01-01T00:00:00Z", Config: json.RawMessage(all[protocol.CoordinatorConfigFile]),
			Coordinator: CoordinatorHead{ProjectID: "p"}, Summary: map[string]json.RawMessage{"super_run_id": json.RawMessage(`"s"`)}}
		for name, text := range all {
			if name != without {
				sum, content := sha256.Sum256([]byte(text)), base64.StdEncoding.EncodeToString([]byte(text))
				e.Files.Set(name, ExportedFile{Format: format(name), Bytes: int64(len(text)), SHA256: hex.EncodeToString(sum[:]), Content: &content})
			}
		}
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		rep, err := CheckCoordinator(t.Context(), data, chained)
		if got := strings.Join(rep.Errors, "; "); err != nil || got != want || rep.OK() != (want == "") {
			t.Errorf("without %q: %q, %v; want %q", without, got, err, want)
		}
	}
}
