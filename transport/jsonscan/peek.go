package jsonscan

// Peek looks for a member of the object that line begins with, and returns the line from that member's value on. It reads
// no further than the value's first byte, so line may be cut anywhere: what is not there, or stands behind a member that
// is cut, is not found. Unlike Fields it takes the first member of that name and checks only what it passes, and it knows
// names only as writers of JSON put ASCII, without escapes. It gives up at a member called stop; "" stops nowhere. It
// serves to tell lines apart that are not worth reading.
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
