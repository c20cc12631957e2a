package secret

import (
	"encoding/base64"
	"strings"
	"sync"
	"unicode/utf8"
)

type charset [256]bool

func chars(set string) charset {
	var c charset
	for i := range len(set) {
		c[set[i]] = true
	}
	return c
}

const (
	uppers = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	lowers = "abcdefghijklmnopqrstuvwxyz"
	digits = "0123456789"
)

var (
	alnum  = chars(uppers + lowers + digits)
	caps   = chars(uppers + digits)
	under  = chars(uppers + lowers + digits + "_")
	wordy  = chars(uppers + lowers + digits + "-_")
	dotty  = chars(uppers + lowers + digits + "-_.")
	base   = chars(uppers + lowers + digits + "+/=")
	bearer = chars(uppers + lowers + digits + "-._~+/=")
	// typed are the characters of an unquoted password.
	typed = chars(uppers + lowers + digits + "-._~+/=!@#$%^*:?")
)

// shape is the format of a well-known kind of key: a prefix, and what must follow it.
type shape struct {
	prefix string
	chars  *charset
	min    int // bytes after the prefix
	// mixed requires a digit or a capital, to distinguish a key from hyphenated words; strong requires a digit and a
	// letter.
	mixed, strong bool
	dots          int  // required dots
	fold          bool // the prefix is case-insensitive
	keep          bool // the prefix stays: only what follows is secret
	kind          kind
}

// kind is how the text after a prefix is found.
type kind uint8

const (
	aRun      kind = iota // characters of a key
	aToken                // after blanks, of any kind
	aLogin                // after blanks, a login in base64
	anAddress             // a password in a URL
	aValue                // an assigned value
	aBlock                // a private key in lines
)

// listShapes returns the known kinds of keys. A longer prefix precedes a shorter one that it starts with.
func listShapes() []shape {
	list := []shape{
		{prefix: "sk-", chars: &wordy, min: 16, mixed: true},
		{prefix: "github_pat_", chars: &under, min: 20},
		{prefix: "AKIA", chars: &caps, min: 16}, {prefix: "ASIA", chars: &caps, min: 16},
		{prefix: "AIza", chars: &wordy, min: 30},
		{prefix: "eyJ", chars: &dotty, min: 30, dots: 2},
		{prefix: "SG.", chars: &dotty, min: 24, dots: 1, strong: true},
		{prefix: "ya29.", chars: &dotty, min: 16, strong: true},
		{prefix: "GOCSPX-", chars: &wordy, min: 16},
		{prefix: "AGE-SECRET-KEY-", chars: &caps, min: 16},
		{prefix: "lin_api_", chars: &alnum, min: 16},
		{prefix: "pypi-", chars: &wordy, min: 32, strong: true},
		{prefix: "whsec_", chars: &base, min: 16, strong: true},
		{prefix: "dckr_pat_", chars: &wordy, min: 16},
		{prefix: "AccountKey=", chars: &base, min: 16, fold: true, keep: true},
		{prefix: "SharedAccessKey=", chars: &base, min: 16, fold: true, keep: true},
		{prefix: "bearer", fold: true, kind: aToken},
		{prefix: "basic", fold: true, kind: aLogin},
		{prefix: "//", kind: anAddress},
		{prefix: pemBegin, kind: aBlock},
	}
	for _, p := range []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"} {
		list = append(list, shape{prefix: p, chars: &alnum, min: 20})
	}
	for _, p := range []string{"xoxb-", "xoxa-", "xoxp-", "xoxr-", "xoxs-", "xoxe-", "xoxc-", "xoxd-", "xapp-"} {
		list = append(list, shape{prefix: p, chars: &wordy, min: 10})
	}
	for _, p := range []string{"glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-"} {
		list = append(list, shape{prefix: p, chars: &wordy, min: 16})
	}
	for _, p := range []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_", "shpat_", "shpss_", "shpca_", "shppa_", "gsk_", "xai-", "npm_", "hf_",
		"dop_v1_", "doo_v1_", "dor_v1_", "dp.pt.", "nvapi-", "r8_", "pplx-", "tskey-", "figd_", "ntn_", "sntrys_", "PMAK-", "cio_", "fo1_"} {
		list = append(list, shape{prefix: p, chars: &wordy, min: 16, strong: true})
	}
	for _, p := range []string{"hvs.", "hvb.", "hvr."} {
		list = append(list, shape{prefix: p, chars: &wordy, min: 16, strong: true})
	}
	for _, p := range []string{"password", "passwd", "passphrase", "pwd"} {
		list = append(list, shape{prefix: p + "=", chars: &typed, min: 6, fold: true, keep: true, kind: aValue})
	}
	for _, p := range []string{"secret", "api_key", "apikey", "api-key", "access_token", "auth_token", "client_secret", "secret_key", "access_key"} {
		list = append(list, shape{prefix: p + "=", chars: &typed, min: 12, strong: true, fold: true, keep: true, kind: aValue})
	}
	return list
}

// shapes are the known kinds of keys, indexed for searching.
type shapes struct {
	list   []shape
	byPair [1 << 16]uint8 // the shapes that can start with two bytes: byPair[p]-1 is an index into lists, unless it is 0
	lists  [][]int
	pairs  pairs   // whether there are any
	firsts charset // their first bytes
}

// known is computed for the first text that is searched: most commands have none.
var known = sync.OnceValue(func() *shapes {
	k := &shapes{list: listShapes()}
	for n, sh := range k.list {
		for _, x := range variants(sh.prefix[0], sh.fold) {
			k.firsts[x] = true
			for _, y := range variants(sh.prefix[1], sh.fold) {
				p := pairOf(x, y)
				if k.byPair[p] == 0 {
					k.lists = append(k.lists, nil)
					k.byPair[p] = uint8(len(k.lists))
				}
				k.lists[k.byPair[p]-1] = append(k.lists[k.byPair[p]-1], n)
				k.pairs.set(p)
			}
		}
	}
	return k
})

func variants(c byte, fold bool) []byte {
	if fold && alnum[c] && c > '9' {
		return []byte{c | 0x20, c &^ 0x20}
	}
	return []byte{c}
}

// pairs is a set of pairs of bytes: the only check that most of a text needs.
type pairs [1 << 16 / 64]uint64

func pairOf(a, b byte) uint16          { return uint16(a)<<8 | uint16(b) }
func (p *pairs) set(n uint16)          { p[n>>6] |= 1 << (n & 63) }
func (p *pairs) has(n uint16) bool     { return p[n>>6]&(1<<(n&63)) != 0 }
func (s *scan) open(i int)             { s.unfinished = min(s.unfinished, i) }
func (sh *shape) begins(t string) bool { return hasPrefix(t, sh.prefix, sh.fold) }

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c |= 0x20
	}
	return c
}

func hasPrefix(text, prefix string, fold bool) bool {
	if len(text) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if c := text[i]; c != prefix[i] && (!fold || lower(c) != lower(prefix[i])) {
			return false
		}
	}
	return true
}

const maxShapes = 128

// scan is one search of a text.
type scan struct {
	text       string
	before     byte
	found      []span
	unfinished int
	// failed remembers for each shape how far a search failed: what fails from one start fails from every later one
	// in the same run of characters, so the search stays linear.
	failed [maxShapes]int32
	known  *shapes
	noEnd  bool // no PEM block ends after this
}

type span struct{ from, to int }

// shapeAt looks for one shape at i.
func (s *scan) shapeAt(n, i int) (end int) {
	sh := &s.known.list[n]
	if int(s.failed[n]) > i {
		return 0
	}
	if sh.kind == anAddress && s.previous(i) != ':' {
		return 0
	}
	rest := s.text[i:]
	if len(rest) < len(sh.prefix) {
		if hasPrefix(sh.prefix, rest, sh.fold) {
			s.open(i)
		}
		return 0
	}
	if !sh.begins(rest) {
		return 0
	}
	if sh.kind != aRun {
		sp, ok := s.special(sh, i)
		if ok {
			s.found = append(s.found, sp)
			return sp.to
		}
		return 0
	}
	from := i + len(sh.prefix)
	end, ok := s.run(sh, from)
	if end == len(s.text) {
		s.open(i)
	}
	if !ok {
		s.failed[n] = int32(end)
		return 0
	}
	if !sh.keep {
		from = i
	}
	s.found = append(s.found, span{from, end})
	return end
}

func (s *scan) special(sh *shape, i int) (span, bool) {
	switch sh.kind {
	case aToken, aLogin:
		return s.afterBlank(sh, i)
	case anAddress:
		return s.login(sh, i)
	case aValue:
		return s.assigned(sh, i)
	}
	return s.pem(sh, i)
}

// run returns the end of the key characters from i, and whether they are enough for a key.
func (s *scan) run(sh *shape, i int) (end int, ok bool) {
	number, capital, letter, dots := false, false, false, 0
	for end = i; end < len(s.text) && sh.chars[s.text[end]]; end++ {
		switch c := s.text[end]; {
		case c >= '0' && c <= '9':
			number = true
		case c >= 'A' && c <= 'Z':
			capital = true
		case c == '.':
			dots++
		default:
			letter = true
		}
	}
	ok = end-i >= sh.min && dots >= sh.dots && (!sh.mixed || number || capital) && (!sh.strong || number && (capital || letter))
	return end, ok
}

// afterBlank finds the token of "Bearer TOKEN", and that of "Basic TOKEN", which must be a login in base64.
func (s *scan) afterBlank(sh *shape, i int) (span, bool) {
	at := i + len(sh.prefix)
	from := at
	for from < len(s.text) && s.text[from] == ' ' {
		from++
	}
	if from == len(s.text) {
		s.open(i)
		return span{}, false
	}
	if from == at {
		return span{}, false
	}
	is := shape{chars: &bearer, min: 16, mixed: true}
	if sh.kind == aLogin {
		is = shape{chars: &base, min: 8}
	}
	end, ok := s.run(&is, from)
	if end == len(s.text) {
		s.open(i)
	}
	if ok && sh.kind == aLogin {
		plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s.text[from:end], "="))
		ok = err == nil && utf8.Valid(plain) && strings.Contains(string(plain), ":")
	}
	return span{from, end}, ok
}

// previous returns the byte before i.
func (s *scan) previous(i int) byte {
	if i == 0 {
		return s.before
	}
	return s.text[i-1]
}

// login finds the password of a URL at its //.
func (s *scan) login(sh *shape, i int) (span, bool) {
	from, colon, end := i+len(sh.prefix), -1, -1
	k := from
loop:
	for ; k < len(s.text) && k-from < 2048; k++ {
		switch c := s.text[k]; c {
		case ':':
			if colon < 0 {
				colon = k
			}
		case '@':
			end = k
		case '/', '?', '#', '"', '\'', '`', '<', '>', '\\', ',', ')', '(', '{', '}', '|', '*':
			break loop
		default:
			if c <= ' ' {
				break loop
			}
		}
	}
	if k == len(s.text) {
		s.open(i)
	}
	if colon < 0 || end <= colon+1 || !likely(s.text[colon+1:end]) {
		return span{}, false
	}
	return span{colon + 1, end}, true
}

// assigned finds the value of password=VALUE, bare or quoted.
func (s *scan) assigned(sh *shape, i int) (span, bool) {
	from := i + len(sh.prefix)
	for from < len(s.text) && s.text[from] == '\\' {
		from++
	}
	if from < len(s.text) && (s.text[from] == '"' || s.text[from] == '\'') {
		from++
	}
	end, ok := s.run(sh, from)
	if end == len(s.text) {
		s.open(i)
	}
	for end > from && strings.IndexByte(".:?!", s.text[end-1]) >= 0 {
		end-- // of the sentence
	}
	if !ok || end-from < sh.min || end < len(s.text) && strings.IndexByte("(){}[]<", s.text[end]) >= 0 {
		return span{}, false // code
	}
	return span{from, end}, likely(s.text[from:end])
}

// likely distinguishes a password in a text from a word, an expression and a placeholder.
func likely(v string) bool {
	if Ordinary(v) || strings.IndexByte("$%<{*.", v[0]) >= 0 || strings.Contains(v, "...") {
		return false
	}
	number, letter, odd, dots := false, false, false, 0
	for i := range len(v) {
		switch c := v[i]; {
		case c >= '0' && c <= '9':
			number = true
		case alnum[c], c == '_':
			letter = true
		case c == '.':
			dots++
		default:
			odd = true
		}
	}
	if dots > 0 && !odd && !number {
		return false // a.b.c
	}
	return letter && (number || odd) || len(v) >= 20 && number
}

const pemBegin = "-----BEGIN "

// pem finds a private key from its first line to its last; a truncated one, to the end of its key lines.
func (s *scan) pem(sh *shape, i int) (span, bool) {
	line := s.text[i+len(sh.prefix):]
	head := strings.Index(line[:min(len(line), 64)], "-----")
	if head < 0 {
		if len(line) < 64 {
			s.open(i)
		}
		return span{}, false
	}
	if !strings.HasSuffix(line[:head], "PRIVATE KEY") && !strings.HasSuffix(line[:head], "PRIVATE KEY BLOCK") {
		return span{}, false
	}
	body := i + len(sh.prefix) + head + len("-----")
	if !s.noEnd {
		tail := "-----END " + line[:head] + "-----"
		if n := strings.Index(s.text[body:], tail); n >= 0 && n < 1<<15 {
			end := body + n + len(tail)
			return span{i, end}, n >= 16
		} else if n < 0 {
			s.noEnd = true
		}
	}
	end, n := pemBody(s.text, body)
	if end == len(s.text) {
		s.open(i)
	}
	return span{i, end}, n >= 16
}

// pemBody returns the end of the base64 lines from i, and how many characters of base64 they have.
func pemBody(text string, i int) (end, n int) {
	end = i
	for k := i; k < len(text); {
		switch {
		case text[k] == '\n' || text[k] == '\r':
			k++
			continue
		case text[k] == '\\' && k+1 < len(text) && (text[k+1] == 'n' || text[k+1] == 'r' || text[k+1] == '\\'):
			k += 2
			continue
		}
		from := k
		for k < len(text) && base[text[k]] {
			k++
		}
		if k == from || k < len(text) && text[k] != '\n' && text[k] != '\r' && text[k] != '\\' && text[k] != '"' && text[k] != '\'' {
			return end, n
		}
		n, end = n+k-from, k
		if k < len(text) && (text[k] == '"' || text[k] == '\'') {
			return end, n
		}
	}
	return end, n
}

// boundary reports whether a key may start at i: not inside a word. The last letter of a JSON escape such as \n or
// \u003c does not belong to a word.
func (s *scan) boundary(i int) bool {
	if i == 0 {
		return !alnum[s.before]
	}
	if !alnum[s.text[i-1]] || !alnum[s.text[i]] {
		return true
	}
	if i >= 2 && s.text[i-2] == '\\' && strings.IndexByte("nrtbf", s.text[i-1]) >= 0 {
		return true
	}
	return i >= 6 && s.text[i-6] == '\\' && s.text[i-5] == 'u'
}
