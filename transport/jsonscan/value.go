package jsonscan

import (
	"math"
	"strconv"
)

// Kind is the kind of a JSON value.
type Kind uint8

// Invalid is the kind of the zero Value, which stands for an absent member.
const (
	Invalid Kind = iota
	Object
	Array
	String
	Number
	True
	False
	Null
)

var kindNames = [...]string{"invalid", "object", "array", "string", "number", "true", "false", "null"}

// String returns the lower-case name of the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind " + strconv.Itoa(int(k))
}

var kinds = [256]Kind{
	'{': Object, '[': Array, '"': String, 't': True, 'f': False, 'n': Null, '-': Number,
	'0': Number, '1': Number, '2': Number, '3': Number, '4': Number,
	'5': Number, '6': Number, '7': Number, '8': Number, '9': Number,
}

// Value is a view of one valid JSON value inside a line. It shares the line's bytes and is invalid once they change;
// Str copies. Every method accepts the zero Value and values of another kind, and then returns zero results, so calls
// can be chained. Values may be read concurrently as long as nobody writes to the line.
type Value struct {
	raw   []byte
	flags flags
}

// Parse checks that line contains exactly one JSON value, with optional white space around it, and returns a view of
// it. The error is a *SyntaxError.
func Parse(line []byte) (Value, error) {
	i := skipSpace(line, 0)
	end, f := scanValue(line, i, 0)
	if end < 0 {
		return Value{}, syntaxError(line, end)
	}
	if rest := skipSpace(line, end); rest != len(line) {
		return Value{}, syntaxError(line, ^rest)
	}
	return Value{raw: line[i:end:end], flags: f}, nil
}

// Kind returns the kind of the value.
func (v Value) Kind() Kind {
	if len(v.raw) == 0 {
		return Invalid
	}
	return kinds[v.raw[0]]
}

// Exists reports whether v is not the zero Value; null exists.
func (v Value) Exists() bool { return len(v.raw) > 0 }

// Raw returns the bytes of the value in the line, nil for the zero Value. They belong to the line.
func (v Value) Raw() []byte { return v.raw }

// Get returns the last member of an object with the given name, the zero Value if there is none. It reads the whole
// object; use Fields for more than one member.
func (v Value) Get(key string) Value {
	var found Value
	for name, member := range v.members {
		if name.flags == 0 && string(name.raw) == key || name.flags != 0 && equalDecoded(name.raw, key) {
			found = member
		}
	}
	return found
}

// Object calls yield for each member of an object in order until it returns false. It has the signature of an
// iter.Seq2. Names are decoded: they belong to the line if they are ASCII without escapes, else they are copies.
// Repeated names are all reported.
func (v Value) Object(yield func(name []byte, member Value) bool) {
	for name, member := range v.members {
		content := name.raw
		if name.flags != 0 {
			content = appendDecoded(nil, content)
		}
		if !yield(content, member) {
			return
		}
	}
}

// members is Object with undecoded names, without their quotes.
func (v Value) members(yield func(name, member Value) bool) {
	if v.Kind() != Object {
		return
	}
	b := v.raw
	for i := skipSpace(b, 1); i < len(b) && b[i] == '"'; {
		end, f := scanString(b, i+1)
		if end < 0 {
			return
		}
		name := Value{raw: b[i+1 : end-1 : end-1], flags: f}
		i = skipSpace(b, skipSpace(b, end)+1)
		end, f = scanValue(b, i, 0)
		if end < 0 || !yield(name, Value{raw: b[i:end:end], flags: f}) {
			return
		}
		i = skipSpace(b, skipSpace(b, end)+1)
	}
}

// Array calls yield for each element of an array in order until it returns false. It has the signature of an
// iter.Seq2.
func (v Value) Array(yield func(i int, element Value) bool) {
	if v.Kind() != Array {
		return
	}
	b := v.raw
	i := skipSpace(b, 1)
	if i >= len(b) || b[i] == ']' {
		return
	}
	for n := 0; i < len(b); n++ {
		end, f := scanValue(b, i, 0)
		if end < 0 || !yield(n, Value{raw: b[i:end:end], flags: f}) {
			return
		}
		i = skipSpace(b, skipSpace(b, end)+1)
	}
}

// Str returns the decoded content of a string, "" for every other kind.
func (v Value) Str() string {
	if v.Kind() != String {
		return ""
	}
	content := v.raw[1 : len(v.raw)-1]
	if v.flags == 0 {
		return string(content)
	}
	return decodedString(content, v.flags)
}

// StrBytes appends the decoded content of a string to buf and returns it, buf itself for every other kind.
func (v Value) StrBytes(buf []byte) []byte {
	if v.Kind() != String {
		return buf
	}
	content := v.raw[1 : len(v.raw)-1]
	if v.flags == 0 {
		return append(buf, content...)
	}
	return appendDecoded(buf, content)
}

// Plain returns the content of a string that needs no decoding: ASCII without escapes. The bytes belong to the line.
// It returns false for other strings and other kinds.
func (v Value) Plain() ([]byte, bool) {
	if v.Kind() != String || v.flags != 0 {
		return nil, false
	}
	return v.raw[1 : len(v.raw)-1], true
}

// IsStr reports whether v is a string whose decoded content is s. It does not allocate.
func (v Value) IsStr(s string) bool {
	if v.Kind() != String {
		return false
	}
	content := v.raw[1 : len(v.raw)-1]
	if v.flags == 0 {
		return string(content) == s
	}
	return equalDecoded(content, s)
}

// Int returns a number that is written as an integer and fits int64, as encoding/json decodes into an int64.
func (v Value) Int() (int64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	digits := v.raw
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) > 19 {
		return 0, false
	}
	var n uint64
	for _, c := range digits {
		if c -= '0'; c > 9 {
			return 0, false
		}
		n = n*10 + uint64(c)
	}
	if len(digits) < len(v.raw) {
		return -int64(n), n <= 1<<63
	}
	return int64(n), n < 1<<63
}

// maxCount is far above any number of tokens and too small for sums to overflow.
const maxCount = 1 << 50

// Count returns a whole number of tokens, milliseconds or the like, including one written 12.0 or 1e3. Anything else,
// and a negative number or one above 2^50, counts as 0.
func (v Value) Count() int64 {
	n, ok := v.Int()
	if !ok {
		if f, _ := v.Float(); f > 0 && f <= maxCount && f == math.Trunc(f) {
			return int64(f)
		}
	}
	if n < 0 || n > maxCount {
		return 0
	}
	return n
}

// Float returns a number as the nearest float64, false if it is out of range or v is not a number.
func (v Value) Float() (float64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v.raw), 64)
	if err != nil {
		return 0, false
	}
	return f, true
}

// IsTrue reports whether v is true.
func (v Value) IsTrue() bool { return v.Kind() == True }

// Bool returns the value of true or false, and whether v is one of them.
func (v Value) Bool() (value, ok bool) {
	k := v.Kind()
	return k == True, k == True || k == False
}
