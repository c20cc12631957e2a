package usagescan

import (
	"bytes"
	"encoding/json"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// HeadSize is how much of a line a Judge may see. A line's end may be missing in it.
const HeadSize = 512

// Format reads one kind of session file. A value serves one file.
type Format interface {
	// Worth judges a line by its head: false for one that cannot say what was used.
	Worth(head []byte) bool
	// Line reads a whole line; false when it is none of the format's: cut off, or no JSON.
	Line(line []byte, give func(*adapter.UsageRecord)) bool
	// Memory is a pointer to what must outlive an interruption, as encoding/json writes it; nil for nothing.
	Memory() any
}

// Scanner is an adapter.UsageScanner for files of lines.
type Scanner struct {
	format Format
	pos    int64 // of what comes next

	boundary int64 // behind the last complete line
	skip     bool  // inside a line that is passed over
	worth    bool  // the line at pos is to be read
	bad      int
	badAt    int64
}

var _ adapter.UsageScanner = (*Scanner)(nil)

// New makes a scanner of a format.
func New(f Format) *Scanner { return &Scanner{format: f} }

// Scan implements adapter.UsageScanner.
func (s *Scanner) Scan(data []byte, end bool, give func(*adapter.UsageRecord)) int {
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
		if !s.worth {
			head := rest[:min(len(rest), HeadSize)]
			if i := bytes.IndexByte(head, '\n'); i >= 0 {
				head = head[:i]
			} else if len(head) < HeadSize && !end {
				break // judged when there is more of it
			}
			if s.worth = s.format.Worth(head); !s.worth {
				s.skip = true
				continue
			}
		}
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			if end {
				// Half a line is one that is being written: it is not bad.
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
		s.worth, s.boundary = false, s.pos+int64(done)
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

// TypeOf reports whether the type of a line is one of kinds, each as it stands in the line, with its quotes. Only what comes
// before the key named before is looked at; known is false when the type is not there.
func TypeOf(head []byte, before string, kinds [][]byte) (is, known bool) {
	kind, known := jsonscan.Peek(head, "type", before)
	if !known {
		return false, false
	}
	for _, k := range kinds {
		if bytes.HasPrefix(kind, k) {
			return true, true
		}
	}
	return false, true
}

// Names hands out one string for all equal ones.
type Names struct{ m map[string]string }

// Of is the string in v, empty for what is none.
func (n *Names) Of(v jsonscan.Value) string {
	b, ok := v.Plain()
	if !ok {
		var small [256]byte
		b = v.StrBytes(small[:0])
	}
	return n.OfBytes(b)
}

// OfBytes is b as a string.
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
