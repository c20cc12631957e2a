package protocol

import (
	"fmt"
	"strings"
	"unicode"
)

// SplitLine splits a command line into words without a shell: at white space outside quotes, with a backslash before a
// space, a quote or another backslash.
func SplitLine(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	in, quote := false, rune(0)
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case r == '\\' && quote != '\'' && i+1 < len(runes) && strings.ContainsRune(" \t\"'\\", runes[i+1]):
			i++
			word.WriteRune(runes[i])
			in = true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '"' || r == '\'':
			quote, in = r, true
		case unicode.IsSpace(r):
			if in {
				words = append(words, word.String())
				word.Reset()
				in = false
			}
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a %c is not closed in %s", quote, line)
	}
	if in {
		words = append(words, word.String())
	}
	return words, nil
}
