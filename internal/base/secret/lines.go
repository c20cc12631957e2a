package secret

import "strings"

// Lines removes secrets from a text line by line, including those that span lines. It is not safe for concurrent use.
type Lines struct {
	Redactor *Redactor
	inside   bool // a private key
	rows     int
}

// maxRows bounds a private key without an end.
const maxRows = 512

// Text returns the next line without secrets.
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

// begins reports whether a line ends with the first line of a private key, like a value in a list of variables.
func begins(line string) bool {
	i := strings.LastIndex(line, pemBegin)
	if i < 0 || len(line)-i > 64 {
		return false
	}
	return strings.HasSuffix(line, "PRIVATE KEY-----") || strings.HasSuffix(line, "PRIVATE KEY BLOCK-----")
}

// pemRow reports whether a line can belong to a key: base64, a header or empty.
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
