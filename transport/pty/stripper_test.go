package pty

import (
	"bytes"
	"strings"
	"testing"
)

func strip(s string) string {
	var st Stripper
	return string(st.Flush(st.Strip(nil, []byte(s))))
}

func TestStripper(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"plain", "hello\r\nworld\t\x07\b", "hello\r\nworld\t\x07\b"},
		{"color", "a\x1b[1;31mred\x1b[0mb", "aredb"},
		{"private mode", "\x1b[?25lx\x1b[?2004h", "x"},
		{"CSI with intermediate", "a\x1b[2 qb", "ab"},
		{"control inside CSI", "a\x1b[1\n2mb", "a\nb"},
		{"CSI cancelled", "a\x1b[12\x18mb", "amb"},
		{"CSI cut by ESC", "a\x1b[12\x1b[1mb", "ab"},
		{"CSI cut by a character", "a\x1b[12éb", "aéb"},
		{"title with BEL", "a\x1b]0;title\x07b", "ab"},
		{"title with ST", "a\x1b]0;title\x1b\\b", "ab"},
		{"title with C1 ST", "a\x1b]0;title\x9cb", "ab"},
		{"title with C1 ST in UTF-8", "a\x1b]0;title\u009cb", "ab"},
		{"title with the byte of ST inside a character", "a\x1b]0;✜ é ü\x07b", "ab"},
		{"title never finished", "a\x1b]0;title\nb", "a\nb"},
		{"link", "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"string followed by a sequence", "a\x1b]0;t\x1b[1mb", "ab"},
		{"DCS over lines", "a\x1bPq\nsixel\x07\n\x1b\\b", "ab"},
		{"APC, PM, SOS", "a\x1b_x\x1b\\b\x1b^x\x1b\\c\x1bXx\x1b\\d", "abcd"},
		{"two bytes", "a\x1b7\x1b8\x1bc\x1b=\x1b>\x1bMb", "ab"},
		{"three bytes", "a\x1b(B\x1b#8b", "ab"},
		{"ESC before a character", "a\x1béb", "aéb"},
		{"ESC ESC", "a\x1b\x1b[1mb", "ab"},
		{"C1 raw", "a\x85b\x8dc", "abc"},
		{"C1 in UTF-8", "a\u0085b\u0090x\u009cc", "abc"},
		{"C1 CSI raw", "a\x9b1mb", "ab"},
		{"C1 CSI in UTF-8", "a\u009b1mb", "ab"},
		{"C1 OSC raw", "a\x9d0;t\x07b", "ab"},
		{"characters with C1 bytes", "ꀛ \u2713 \u00e9 \u4e2d \U0001f600 \u00a0\u00bf", "ꀛ \u2713 \u00e9 \u4e2d \U0001f600 \u00a0\u00bf"},
		{"invalid UTF-8", "a\xff\xfeb\xe9c\xa0\xbfd", "a\xff\xfeb\xe9c\xa0\xbfd"},
		{"lead without follower", "a\xc2b\xc2", "a\xc2b\xc2"},
		{"lead twice", "\xc2\xc2\x9b1mb", "\xc2b"},
		{"unfinished at the end", "a\x1b[1", "a"},
		{"endless CSI", "\x1b[" + strings.Repeat("1", maxSequence+3), "111"},
		{"endless DCS", "\x1bP" + strings.Repeat("x", maxString+4), "xxx"},
	} {
		if got := strip(tc.in); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

// FuzzStripper: cutting the input anywhere changes nothing, text without controls passes, and nothing is invented.
func FuzzStripper(f *testing.F) {
	for _, s := range []string{"a\x1b[1;31mb", "\x1b]0;✜\x07x", "\u009b1m\xc2", "\x1bP\x1b\\", "\xe2\x9c\x9c\x85", "\x1b(B\n\x18"} {
		f.Add([]byte(s), uint8(1), uint8(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, a, b uint8) {
		var whole Stripper
		want := whole.Flush(whole.Strip(nil, in))
		for _, step := range [][2]int{{1, 1}, {int(a)%7 + 1, int(b)%5 + 1}} {
			var st Stripper
			var got []byte
			for rest, i := in, 0; len(rest) > 0; i++ {
				n := min(step[i%2], len(rest))
				got = st.Strip(got, rest[:n])
				rest = rest[n:]
			}
			if got = st.Flush(got); !bytes.Equal(got, want) {
				t.Fatalf("in pieces %v: got %q, want %q", step, got, want)
			}
		}
		if len(want) > len(in) {
			t.Fatalf("%q grew to %q", in, want)
		}
		if bytes.IndexByte(want, esc) >= 0 {
			t.Fatalf("%q still holds ESC", want)
		}
		plain := true
		for _, c := range in {
			plain = plain && c != esc && c < 0x80
		}
		if plain && !bytes.Equal(in, want) {
			t.Fatalf("plain text %q became %q", in, want)
		}
		// What is left is a subsequence of what came.
		rest := in
		for _, c := range want {
			i := bytes.IndexByte(rest, c)
			if i < 0 {
				t.Fatalf("%q is not in %q", want, in)
			}
			rest = rest[i+1:]
		}
	})
}

func BenchmarkStripper(b *testing.B) {
	data := bytes.Repeat([]byte("some text \x1b[1;32mgreen ✓\x1b[0m and more of it, without any color at all\r\n"), 10_000)
	b.SetBytes(int64(len(data)))
	var dst []byte
	for b.Loop() {
		var st Stripper
		dst = st.Strip(dst[:0], data)
	}
}
