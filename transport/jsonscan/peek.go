package jsonscan

// Peek finds a member of the object that line starts with, and returns the rest of the line from that member's value
// on. It reads only up to the value's first byte, so line may be truncated anywhere: a missing member, or one after
// the cut, is not found. Unlike Fields it returns the first member of that name, checks only what it skips, and
// matches names without escapes only. It stops at a member called stop, unless that is empty. Use it to skip
// irrelevant lines cheaply.
func Peek(line []byte, name, stop string) ([]byte, bool) {
	if stop == "" {
		stop = name
	}
	i := skipSpace(line, 0)
	if i >= len(line) || line[i] != '{' {
		return nil, false
	}
	for {
		i = skipSpace(line, i+1)
		if i >= len(line) || line[i] != '"' {
			return nil, false
		}
		start := i + 1
		end, _ := scanString(line, start)
		if end < 0 {
			return nil, false
		}
		i = skipSpace(line, end)
		if i >= len(line) || line[i] != ':' {
			return nil, false
		}
		i = skipSpace(line, i+1)
		if i >= len(line) {
			return nil, false
		}
		switch string(line[start : end-1]) {
		case name:
			return line[i:], true
		case stop:
			return nil, false
		}
		if i, _ = scanValue(line, i, 1); i < 0 {
			return nil, false
		}
		i = skipSpace(line, i)
		if i >= len(line) || line[i] != ',' {
			return nil, false
		}
	}
}
