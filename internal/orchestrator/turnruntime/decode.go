package turnruntime

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/drawbar/drawbar/internal/governance/protocol"
)

// decode reads a result as whoever validates it will.
func decode(data []byte) (protocol.RawResult, error) {
	var r protocol.RawResult
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &r); err != nil {
		return r, fmt.Errorf("read the result: %w", err)
	}
	return r, nil
}
