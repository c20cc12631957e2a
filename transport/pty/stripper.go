package pty

// The longest control sequences; longer ones are not treated as sequences, so that output is not swallowed without
// end. A string (OSC, DCS, ...) may contain a picture; the others are short.
const (
	maxSequence = 256
	maxString   = 1 << 20
)

type state uint8

const (
	ground       state = iota
	escape             // after ESC
	intermediate       // after ESC and bytes that ask for one more, as in ESC ( B
	csi                // in ESC [ ... final byte
	osc                // in ESC ] ... up to BEL, ST or the end of the line
	str                // in a DCS, SOS, PM or APC string, up to ST
	oscEscape          // in osc, after ESC
	strEscape          // in str, after ESC
)

const (
	bel = 0x07
	can = 0x18
	sub = 0x1a
	esc = 0x1b
	st  = 0x9c // the end of a string, as C1
	c2  = 0xc2 // leads a C1 control in UTF-8
)

// Stripper removes terminal control sequences from a stream of bytes: CSI, OSC and the other strings, ESC sequences,
// and C1 controls, raw or in UTF-8. Everything else passes unchanged, including invalid UTF-8. A sequence may be
// split anywhere between two calls. The zero value is ready. Not safe for concurrent use.
type Stripper struct {
	state state
	more  uint8 // continuation bytes that the current UTF-8 character still expects
	lead  bool  // the last byte was c2: the next one decides whether it is output
	size  int   // length of the current sequence
}

// Strip appends to dst what is left of src. It never holds back more than one byte, see Flush.
func (s *Stripper) Strip(dst, src []byte) []byte {
	for i := 0; i < len(src); {
		if s.state == ground && s.more == 0 && !s.lead {
			// Plain text goes in one piece.
			j := i
			for j < len(src) && src[j] < 0x80 && src[j] != esc {
				j++
			}
			dst = append(dst, src[i:j]...)
			if i = j; i == len(src) {
				break
			}
		}
		dst = s.step(dst, src[i])
		i++
	}
	return dst
}

// Flush appends a byte that was held back, and resets the state. An unfinished sequence is dropped.
func (s *Stripper) Flush(dst []byte) []byte {
	if s.lead && s.state == ground {
		dst = append(dst, c2)
	}
	*s = Stripper{}
	return dst
}

// step handles one byte.
func (s *Stripper) step(dst []byte, c byte) []byte {
	if s.lead {
		s.lead = false
		switch {
		case c >= 0x80 && c <= 0x9f:
			return s.c1(dst, c)
		case s.state == ground:
			dst = append(dst, c2)
			if c >= 0xa0 && c <= 0xbf {
				return append(dst, c)
			}
		case c >= 0xa0 && c <= 0xbf:
			return s.inString(dst, c, true)
		}
	}
	if s.more > 0 {
		if c >= 0x80 && c <= 0xbf {
			s.more--
			if s.state == ground {
				return append(dst, c)
			}
			return s.inString(dst, c, true)
		}
		s.more = 0
	}
	switch s.state {
	case ground:
		return s.inGround(dst, c)
	case escape, intermediate:
		return s.inEscape(dst, c)
	case csi:
		return s.inCSI(dst, c)
	case oscEscape, strEscape:
		if c == '\\' {
			s.to(ground)
			return dst
		}
		s.to(escape) // not the end of the string but a new sequence, which ends it too
		return s.inEscape(dst, c)
	}
	return s.inString(dst, c, false)
}

func (s *Stripper) to(n state) { s.state, s.size, s.more = n, 0, 0 }

func (s *Stripper) inGround(dst []byte, c byte) []byte {
	switch {
	case c == esc:
		s.to(escape)
		return dst
	case c == c2:
		s.lead = true
		return dst
	case c >= 0x80 && c <= 0x9f:
		return s.c1(dst, c)
	}
	s.more = following(c)
	return append(dst, c)
}

// c1 handles a C1 control. It ends the sequence that it interrupts.
func (s *Stripper) c1(dst []byte, c byte) []byte {
	switch c {
	case 0x9b:
		s.to(csi)
	case 0x9d:
		s.to(osc)
	case 0x90, 0x98, 0x9e, 0x9f:
		s.to(str)
	default:
		s.to(ground)
	}
	return dst
}

func (s *Stripper) inEscape(dst []byte, c byte) []byte {
	s.size++
	switch {
	case c == esc:
		s.to(escape)
	case c == can, c == sub, s.size > maxSequence:
		s.to(ground)
	case c < 0x20:
		return append(dst, c) // a control takes effect inside a sequence
	case c < 0x30:
		s.state = intermediate
	case c >= 0x7f:
		s.to(ground)
		return s.step(dst, c)
	case s.state == intermediate:
		s.to(ground)
	case c == '[':
		s.to(csi)
	case c == ']':
		s.to(osc)
	case c == 'P', c == 'X', c == '^', c == '_':
		s.to(str)
	default:
		s.to(ground)
	}
	return dst
}

func (s *Stripper) inCSI(dst []byte, c byte) []byte {
	s.size++
	switch {
	case c == esc:
		s.to(escape)
	case c == can, c == sub:
		s.to(ground)
	case c < 0x20:
		return append(dst, c)
	case c >= 0x7f, s.size > maxSequence:
		s.to(ground)
		return s.step(dst, c)
	case c >= 0x40:
		s.to(ground)
	}
	return dst
}

// inString handles a byte of an OSC, DCS, SOS, PM or APC string; inside reports that it continues a character.
func (s *Stripper) inString(dst []byte, c byte, inside bool) []byte {
	s.size++
	if inside {
		return s.bounded(dst)
	}
	switch {
	case c == esc && s.state == osc:
		s.state = oscEscape
		return dst
	case c == esc:
		s.state = strEscape
		return dst
	case c == st, c == can, c == sub, c == bel && s.state == osc:
		s.to(ground)
		return dst
	case c == '\n' && s.state == osc:
		s.to(ground) // an OSC cannot span lines: this one was never finished
		return append(dst, c)
	case c == c2:
		s.lead = true
	default:
		s.more = following(c)
	}
	return s.bounded(dst)
}

func (s *Stripper) bounded(dst []byte) []byte {
	if s.size > maxString {
		more, lead := s.more, s.lead
		s.to(ground)
		s.more, s.lead = more, lead
	}
	return dst
}

// following returns the number of continuation bytes that a UTF-8 lead byte announces.
func following(c byte) uint8 {
	switch {
	case c >= 0xf0 && c <= 0xf4:
		return 3
	case c >= 0xe0 && c < 0xf0:
		return 2
	case c > c2 && c < 0xe0:
		return 1
	}
	return 0
}
