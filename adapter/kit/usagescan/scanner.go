package usagescan

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// HeadSize is the most of a line that a Judge sees; the line may be longer.
const HeadSize = 512

// Format reads one kind of session file. A value serves one file.
type Format interface {
	// Relevant judges a line by its head: false if it cannot contain usage.
	Relevant(head []byte) bool
	// Line reads a whole line; false if it is truncated, not JSON or of another format.
	Line(line []byte, give func(*history.UsageRecord)) bool
	// Memory returns a pointer to the state to save for a resumed scan, encodable by encoding/json; nil for none.
	Memory() any
}

// Scanner is an adapter.UsageScanner for files of lines.
type Scanner struct {
	format Format
	pos    int64 // position of the next byte

	boundary int64 // end of the last complete line
	skip     bool  // in the middle of a skipped line
	relevant bool  // the line at pos is to be read
	bad      int
	badAt    int64
}

var _ adapter.UsageScanner = (*Scanner)(nil)

// New returns a scanner of a format.
func New(f Format) *Scanner { return &Scanner{format: f} }

// Scan implements adapter.UsageScanner.
func (s *Scanner) Scan(data []byte, end bool, give func(*history.UsageRecord)) int {
	done := 0
	for done < len(data) {
		rest := data[done:]
		if s.skip {
			i := bytes.IndexByte(rest, '\n')
			if i < 0 {
				done = len(data)
				break
			}
			done += i + 1
			s.skip, s.boundary = false, s.pos+int64(done)
			continue
		}
		if !s.relevant {
			head := rest[:min(len(rest), HeadSize)]
			if i := bytes.IndexByte(head, '\n'); i >= 0 {
				head = head[:i]
			} else if len(head) < HeadSize && !end {
				break // judged once more of it is available
			}
			if s.relevant = s.format.Relevant(head); !s.relevant {
				s.skip = true
				continue
			}
		}
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			if end {
				// A partial last line is still being written: it is not an error.
				s.format.Line(rest, give)
				done = len(data)
			}
			break
		}
		line := bytes.TrimSuffix(rest[:i], []byte{'\r'})
		if len(line) > 0 && !s.format.Line(line, give) {
			if s.bad == 0 {
				s.badAt = s.pos + int64(done)
			}
			s.bad++
		}
		done += i + 1
		s.relevant, s.boundary = false, s.pos+int64(done)
	}
	s.pos += int64(done)
	return done
}

// Boundary implements adapter.UsageScanner.
func (s *Scanner) Boundary() int64 { return s.boundary }

// Bad implements adapter.UsageScanner.
func (s *Scanner) Bad() (int, int64) { return s.bad, s.badAt }

// State implements adapter.UsageScanner.
func (s *Scanner) State() []byte {
	m := s.format.Memory()
	if m == nil {
		return nil
	}
	b, err := json.Marshal(m)
	if err != nil {
		return nil
	}
	return b
}

// Restore implements adapter.UsageScanner.
func (s *Scanner) Restore(state []byte) bool {
	m := s.format.Memory()
	if m == nil {
		return len(state) == 0
	}
	return json.Unmarshal(state, m) == nil
}

// TypeOf reports whether a line's type is one of kinds, each given with its quotes. Only the text before the key
// named before is searched; known is false if it contains no type.
func TypeOf(head []byte, before string, kinds [][]byte) (is, known bool) {
	kind, known := jsonscan.Peek(head, "type", before)
	return known && slices.ContainsFunc(kinds, func(k []byte) bool { return bytes.HasPrefix(kind, k) }), known
}

// Names interns strings.
type Names struct{ m map[string]string }

// Of returns the string in v, empty if v is not a string.
func (n *Names) Of(v jsonscan.Value) string {
	b, ok := v.Plain()
	if !ok {
		var small [256]byte
		b = v.StrBytes(small[:0])
	}
	return n.OfBytes(b)
}

// OfBytes returns b as an interned string.
func (n *Names) OfBytes(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if s, ok := n.m[string(b)]; ok {
		return s
	}
	if n.m == nil {
		n.m = map[string]string{}
	}
	s := string(b)
	n.m[s] = s
	return s
}
