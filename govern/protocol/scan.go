package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// eachField calls fn with the keys and values of a JSON object in their order; the arguments of fn are slices of data.
// data must be valid JSON: this only finds where values end. The whole record is read with it by every command, and a
// token decoder takes ten times as long.
func eachField(data []byte, fn func(key, value []byte) error) error {
	s := scanner{data: data}
	if s.space(); !s.take('{') {
		return fmt.Errorf("want an object, got %s", Kind(data))
	}
	for first := true; ; first = false {
		s.space()
		if s.take('}') {
			return nil
		}
		if !first {
			if !s.take(',') {
				return s.fault()
			}
			s.space()
		}
		begin := s.at
		if !s.skipString() {
			return s.fault()
		}
		key := data[begin+1 : s.at-1]
		if bytes.IndexByte(key, '\\') >= 0 || !utf8.Valid(key) {
			var text string
			if err := json.Unmarshal(data[begin:s.at], &text); err != nil {
				return err
			}
			key = []byte(text)
		}
		if s.space(); !s.take(':') {
			return s.fault()
		}
		s.space()
		begin = s.at
		if !s.skipValue() {
			return s.fault()
		}
		if err := fn(key, data[begin:s.at]); err != nil {
			return err
		}
	}
}

type scanner struct {
	data []byte
	at   int
}

func (s *scanner) fault() error { return fmt.Errorf("not a JSON object: byte %d", s.at) }

func (s *scanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

func (s *scanner) take(c byte) bool {
	if s.at >= len(s.data) || s.data[s.at] != c {
		return false
	}
	s.at++
	return true
}

func (s *scanner) skipString() bool {
	if !s.take('"') {
		return false
	}
	for s.at < len(s.data) {
		n := bytes.IndexByte(s.data[s.at:], '"')
		if n < 0 {
			break
		}
		s.at += n + 1
		back := 0
		for i := s.at - 2; i >= 0 && s.data[i] == '\\'; i-- {
			back++
		}
		if back%2 == 0 {
			return true
		}
	}
	s.at = len(s.data)
	return false
}

func (s *scanner) skipValue() bool {
	depth, begin := 0, s.at
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case '"':
			if !s.skipString() {
				return false
			}
		case '{', '[':
			depth++
			s.at++
		case '}', ']':
			if depth == 0 {
				return s.at > begin
			}
			depth--
			s.at++
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return s.at > begin
			}
			s.at++
			continue
		default:
			s.at++
			continue
		}
		if depth == 0 {
			return true
		}
	}
	return false
}
