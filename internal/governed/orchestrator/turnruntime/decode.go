package turnruntime

import (
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance/turnresult"
)

// decode parses a result as the validator does, tolerating the same packaging.
func decode(data []byte) (protocol.RawResult, error) {
	r, _, err := turnresult.Decode(data)
	return r, err
}
