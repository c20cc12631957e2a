package configfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// parseJSON5 parses JSON5. Offsets in the tree are those of text; its literals are standard JSON, so that packing the
// tree yields the document as JSON. Numbers that JSON does not have become text.
func parseJSON5(text []byte) (hujson.Value, error) {
	p := &json5Parser{text: text}
	v := p.value(0)
	if p.skip(); p.at < len(text) {
		p.fail("text after the end of the value")
	}
	if p.fault != nil {
		return hujson.Value{}, p.fault
	}
	return v, nil
}

// json5Parser stops at its first fault: at is the end of the text from then on.
type json5Parser struct {
	text  []byte
	at    int
	fault *SyntaxError
}

func (p *json5Parser) fail(format string, args ...any) {
	if p.fault == nil {
		p.fault = faultAt(p.text, p.at, fmt.Sprintf(format, args...))
	}
	p.at = len(p.text)
}

func (p *json5Parser) rest() []byte { return p.text[p.at:] }

func (p *json5Parser) next() rune {
	r, _ := utf8.DecodeRune(p.rest())
	return r
}

// accept reads a byte if it is next.
func (p *json5Parser) accept(c byte) bool {
	if p.at >= len(p.text) || p.text[p.at] != c {
		return false
	}
	p.at++
	return true
}

// skip reads white space and comments.
func (p *json5Parser) skip() {
	for p.at < len(p.text) {
		r, size := utf8.DecodeRune(p.rest())
		switch {
		case bytes.HasPrefix(p.rest(), []byte("//")):
			end := bytes.IndexFunc(p.rest(), endsLine)
			if end < 0 {
				end = len(p.rest())
			}
			p.at += end
		case bytes.HasPrefix(p.rest(), []byte("/*")):
			end := bytes.Index(p.rest()[2:], []byte("*/"))
			if end < 0 {
				p.fail("unterminated comment")
				return
			}
			p.at += 2 + end + 2
		case r == '\ufeff' || r != '\u0085' && unicode.IsSpace(r):
			p.at += size
		default:
			return
		}
	}
}

func endsLine(r rune) bool { return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' }

func (p *json5Parser) value(depth int) hujson.Value {
	p.skip()
	v := hujson.Value{StartOffset: p.at}
	switch c := p.next(); {
	case (c == '{' || c == '[') && depth == maxDepth:
		p.fail("is nested more than %d levels deep", maxDepth)
	case c == '{':
		v.Value = p.object(depth + 1)
	case c == '[':
		v.Value = p.array(depth + 1)
	case c == '"' || c == '\'':
		v.Value = hujson.Literal(literal(p.quoted()))
	default:
		v.Value = p.word()
	}
	v.EndOffset = p.at
	return v
}

func (p *json5Parser) object(depth int) *hujson.Object {
	o := &hujson.Object{}
	p.items('}', func() {
		name := hujson.Value{StartOffset: p.at}
		if c := p.next(); c == '"' || c == '\'' {
			name.Value = hujson.Literal(literal(p.quoted()))
		} else {
			name.Value = hujson.Literal(literal(p.identifier()))
		}
		name.EndOffset = p.at
		if p.skip(); !p.accept(':') {
			p.fail("want a colon after the key")
		}
		o.Members = append(o.Members, hujson.ObjectMember{Name: name, Value: p.value(depth)})
	})
	return o
}

func (p *json5Parser) array(depth int) *hujson.Array {
	a := &hujson.Array{}
	p.items(']', func() { a.Elements = append(a.Elements, p.value(depth)) })
	return a
}

// items reads what stands between brackets. A comma may follow the last item.
func (p *json5Parser) items(end byte, item func()) {
	p.at++
	for more := true; p.fault == nil; more = p.accept(',') {
		if p.skip(); p.accept(end) {
			return
		}
		if !more {
			p.fail("want a comma or %q", end)
			return
		}
		item()
		p.skip()
	}
}

// identifier reads a key without quotes.
func (p *json5Parser) identifier() string {
	start := p.at
	var b strings.Builder
	for {
		r, size := utf8.DecodeRune(p.rest())
		from := p.at
		if r == '\\' && bytes.HasPrefix(p.rest(), []byte(`\u`)) {
			p.at += 2
			r = p.hex(4)
		} else {
			p.at += size
		}
		letter := r == '$' || r == '_' || unicode.In(r, unicode.L, unicode.Nl)
		if !letter && (from == start || r != '\u200c' && r != '\u200d' && !unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc)) {
			if p.at = from; from == start || p.text[from] == '\\' {
				p.fail("want a key")
			}
			return b.String()
		}
		b.WriteRune(r)
	}
}

// number is a number of JSON5: the sign, the digits of a hexadecimal one, or the integer, the fraction and the exponent.
var number = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([+-]?)(?:0[xX]([0-9a-fA-F]+)|(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][+-]?[0-9]+)?)$`)
})

// word reads a value without quotes.
func (p *json5Parser) word() hujson.Literal {
	end := bytes.IndexFunc(p.rest(), func(r rune) bool {
		return r != '+' && r != '-' && r != '.' && r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	if end < 0 {
		end = len(p.rest())
	}
	word := string(p.rest()[:end])
	switch strings.TrimLeft(word, "+-") {
	case "null", "true", "false":
		if json.Valid([]byte(word)) {
			p.at += end
			return hujson.Literal(word)
		}
	case "Infinity", "NaN":
		if strings.LastIndexAny(word, "+-") <= 0 {
			p.at += end
			return hujson.Literal(literal(word))
		}
	}
	m := number().FindStringSubmatch(word)
	if m == nil || m[2] == "" && m[3] == "" && len(m[4]) < 2 {
		p.fail("want a value")
		return nil
	}
	p.at += end
	text := cmp.Or(m[3], "0") + m[4] + m[5]
	if len(m[4]) == 1 {
		text = m[3] + m[5] // 5. is 5
	}
	if m[2] != "" {
		if n, err := strconv.ParseUint(m[2], 16, 64); err == nil {
			text = strconv.FormatUint(n, 10)
		} else if f, err := strconv.ParseFloat("0x"+m[2]+"p0", 64); err == nil {
			text = literal(f)
		} else {
			return hujson.Literal(literal(word))
		}
	}
	return hujson.Literal(strings.TrimPrefix(m[1], "+") + text)
}

var escapes = map[rune]rune{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v', '0': 0}

// quoted reads text in quotes of either kind.
func (p *json5Parser) quoted() string {
	quote := p.text[p.at]
	p.at++
	var b strings.Builder
	for !p.accept(quote) {
		r, size := utf8.DecodeRune(p.rest())
		if size == 0 || r == '\n' || r == '\r' {
			p.fail("unterminated text")
			return ""
		}
		p.at += size
		if r != '\\' {
			b.WriteRune(r)
			continue
		}
		r, size = utf8.DecodeRune(p.rest())
		following := p.rest()[min(size, len(p.rest())):]
		if r >= '1' && r <= '9' || r == '0' && len(following) > 0 && following[0] >= '0' && following[0] <= '9' {
			p.fail("octal escape")
			return ""
		}
		p.at += size
		plain, special := escapes[r]
		switch {
		case r == '\r':
			p.accept('\n') // a line that goes on
		case endsLine(r):
		case r == 'x':
			b.WriteRune(p.hex(2))
		case r == 'u':
			r = p.hex(4)
			if utf16.IsSurrogate(r) && bytes.HasPrefix(p.rest(), []byte(`\u`)) {
				at := p.at
				p.at += 2
				if r = utf16.DecodeRune(r, p.hex(4)); r == unicode.ReplacementChar && p.fault == nil {
					p.at = at // the second is a character of its own
				}
			}
			b.WriteRune(r)
		case special:
			b.WriteRune(plain)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hex reads the digits of an escape.
func (p *json5Parser) hex(digits int) rune {
	n, err := strconv.ParseUint(string(p.rest()[:min(digits, len(p.rest()))]), 16, 32)
	if err != nil || len(p.rest()) < digits {
		p.fail("want %d hexadecimal digits", digits)
		return unicode.ReplacementChar
	}
	p.at += digits
	return rune(n)
}
