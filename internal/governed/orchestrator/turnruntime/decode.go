package turnruntime

import (
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/governed/governance/turnresult"
)

// decode reads a result as whoever validates it will: tolerant of how it is packed.
func decode(data []byte) (protocol.RawResult, error) {
	r, _, err := turnresult.Decode(data)
	return r, err
}
