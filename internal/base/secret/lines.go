package secret

import "strings"

// Lines takes secrets out of a text that comes line by line: what none of its lines shows alone is known from those before.
// It is not safe for concurrent use.
type Lines struct {
	Redactor *Redactor
	inside   bool // a private key
	rows     int
}

// maxRows bounds a private key whose end is missing.
const maxRows = 512

// Text is the next line without secrets.
func (l *Lines) Text(line string) string {
	bare := strings.TrimSpace(line)
	switch {
	case l.inside && strings.HasPrefix(bare, "-----END "):
		l.inside = false
	case l.inside && l.rows < maxRows && pemRow(bare):
		l.rows++
		if bare == "" {
			return line
		}
		return Mark
	case begins(bare):
		l.inside, l.rows = true, 0
	default:
		l.inside = false
	}
	return l.Redactor.Text(line)
}

// begins reports whether a line ends with the first line of a private key, as a value in a list of variables does.
func begins(line string) bool {
	i := strings.LastIndex(line, pemBegin)
	if i < 0 || len(line)-i > 64 {
		return false
	}
	return strings.HasSuffix(line, "PRIVATE KEY-----") || strings.HasSuffix(line, "PRIVATE KEY BLOCK-----")
}

// pemRow reports whether a line can be one of a key: base64, a header or nothing.
func pemRow(line string) bool {
	if strings.HasPrefix(line, "Proc-Type:") || strings.HasPrefix(line, "DEK-Info:") || strings.HasPrefix(line, "Version:") || strings.HasPrefix(line, "Comment:") {
		return true
	}
	for i := range len(line) {
		if !base[line[i]] {
			return false
		}
	}
	return true
}
