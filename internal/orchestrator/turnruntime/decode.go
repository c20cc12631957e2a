package turnruntime

import (
	"fmt"

	"github.com/drawbar/drawbar/internal/governance/protocol"
	"github.com/drawbar/drawbar/internal/governance/turnresult"
)

// decode reads a result as whoever validates it will.
func decode(data []byte) (protocol.RawResult, error) {
	r, _, err := turnresult.Decode(data)
	if err != nil {
		return r, fmt.Errorf("read the result: %w", err)
	}
	return r, nil
}
