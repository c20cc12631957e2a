package cli

import "strings"

// helpWidth is the number of columns of help.
const helpWidth = 120

// Wrap fits help into helpWidth columns. Lines without indentation are refilled as paragraphs. An indented line stays a line of
// its own and continues below its last column.
func Wrap(text string) string {
	var out, prose []string
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && line[0] != ' ' {
			prose = append(prose, line)
			continue
		}
		out = append(out, fold(strings.Join(prose, " "), "")...)
		prose = nil
		out = append(out, fold(line, strings.Repeat(" ", lastColumn(line)))...)
		if line == "" {
			out = append(out, "")
		}
	}
	return strings.Join(append(out, fold(strings.Join(prose, " "), "")...), "\n")
}

// lastColumn returns where the last column of a line begins: after at least two spaces, or two columns into its text.
func lastColumn(line string) int {
	body := strings.TrimLeft(line, " ")
	at := len(line) - len(body)
	if gap := strings.LastIndex(line[:min(len(line), helpWidth/2)], "  "); gap+2 > at {
		return gap + 2
	}
	return at + 2
}

// fold breaks a line between words. The lines after the first begin with indent. An empty line has no lines.
func fold(line, indent string) []string {
	var out []string
	rest := []rune(line)
	for len(rest) > helpWidth {
		at := helpWidth
		for at > len(indent) && rest[at] != ' ' {
			at--
		}
		if at <= len(indent) {
			break // one long word
		}
		out = append(out, strings.TrimRight(string(rest[:at]), " "))
		rest = []rune(indent + strings.TrimLeft(string(rest[at:]), " "))
	}
	if len(rest) > 0 {
		out = append(out, string(rest))
	}
	return out
}
