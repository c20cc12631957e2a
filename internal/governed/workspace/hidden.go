package workspace

import (
	"bytes"
	"encoding/binary"
)

// hiddenPaths returns the paths of an index that are marked so that git does not check them: assume-unchanged or
// skip-worktree. An index in an unknown format returns none.
func hiddenPaths(index []byte, idLen int) []string {
	const stat = 40
	if len(index) < 12 || string(index[:4]) != "DIRC" {
		return nil
	}
	version, count := binary.BigEndian.Uint32(index[4:]), binary.BigEndian.Uint32(index[8:])
	var hidden []string
	prev := ""
	at := 12
	for range count {
		begin := at
		at += stat + idLen
		if at+2 > len(index) {
			return hidden
		}
		flags := binary.BigEndian.Uint16(index[at:])
		at += 2
		var more uint16
		if flags&0x4000 != 0 {
			if at+2 > len(index) {
				return hidden
			}
			more = binary.BigEndian.Uint16(index[at:])
			at += 2
		}
		keep := 0
		if version == 4 {
			strip, n := stripped(index[at:])
			if n == 0 || strip > len(prev) {
				return hidden
			}
			at += n
			keep = len(prev) - strip
		}
		end := bytes.IndexByte(index[at:], 0)
		if end < 0 {
			return hidden
		}
		prev = prev[:keep] + string(index[at:at+end])
		at += end + 1
		if version != 4 {
			at = begin + (at-begin+7)/8*8
		}
		if flags&0x8000 != 0 || more&0x4000 != 0 {
			hidden = append(hidden, prev)
		}
		if at > len(index) {
			return hidden
		}
	}
	return hidden
}

// stripped decodes how many bytes version 4 drops from the name of the entry before, and the length of that number; 0
// if it is invalid.
func stripped(b []byte) (value, n int) {
	for i, c := range b {
		if i > 4 {
			return 0, 0
		}
		if i > 0 {
			value++
		}
		value = value<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return value, i + 1
		}
	}
	return 0, 0
}
