package cliagent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/execution"
)

func TestMediaType(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		a    execution.Attachment
		want string
		kind Media
	}{
		{"stated", execution.Attachment{MimeType: "Image/PNG; q=1", FilePath: "/a.txt"}, "image/png", MediaImage},
		{"stated badly", execution.Attachment{MimeType: " Text/;;"}, "text/;;", MediaText},
		{"data url", execution.Attachment{URL: "DATA:image/webp;base64,eA==", Name: "a.txt"}, "image/webp", MediaImage},
		{"data url without base64", execution.Attachment{URL: "data:text/plain,x"}, "", MediaUnknown},
		{"name before file", execution.Attachment{Name: "a.pdf", FilePath: "/x.png"}, "application/pdf", MediaPDF},
		{"file", execution.Attachment{FilePath: `/x.GO`}, "text/plain", MediaText},
		{"url", execution.Attachment{URL: "https://h/a/x.JPG?y=1"}, "image/jpeg", MediaImage},
		{"broken url", execution.Attachment{URL: "%zz://a.png"}, "", MediaUnknown},
		{"svg", execution.Attachment{MimeType: "image/svg+xml"}, "image/svg+xml", MediaText},
		{"json", execution.Attachment{MimeType: "application/ld+json"}, "application/ld+json", MediaText},
		{"video", execution.Attachment{FilePath: "/a.mp4"}, "video/mp4", MediaOther},
		{"sound", execution.Attachment{FilePath: "/a.mp3"}, "audio/mpeg", MediaAudio},
		{"binary", execution.Attachment{FilePath: "/a.exe"}, "application/octet-stream", MediaUnknown},
		{"nothing", execution.Attachment{FilePath: "/Makefile"}, "", MediaUnknown},
	} {
		got := tt.a.MediaType()
		if kind := MediaOf(got); got != tt.want || kind != tt.kind {
			t.Errorf("%s: got %q, %q, want %q, %q", tt.name, got, kind, tt.want, tt.kind)
		}
	}
}

func TestSniffMedia(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"\x89PNG\r\n\x1a\nx": "image/png", "\xff\xd8\xffx": "image/jpeg", "GIF89a": "image/gif", "RIFF1234WEBPx": "image/webp",
		"%PDF-1.7": "application/pdf", "all:": "text/plain", "": "text/plain", "a\x00b": "application/octet-stream",
		"\xff\xfe": "application/octet-stream", "RIFF1234WAVE\xff": "application/octet-stream",
	} {
		if got := SniffMedia([]byte(content)); got != want {
			t.Errorf("%q: got %s, want %s", content, got, want)
		}
	}
}

func TestAttachmentContent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	big := file("big", "")
	if err := os.Truncate(big, MaxAttachment+1); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		a    execution.Attachment
		want string
		err  string
	}{
		{"file", execution.Attachment{FilePath: file("a", "hi")}, "hi", ""},
		{"empty file", execution.Attachment{FilePath: file("e", "")}, "", ""},
		{"base64", execution.Attachment{Base64: "aGk="}, "hi", ""},
		{"data url", execution.Attachment{URL: "data:text/plain;base64,aGk="}, "hi", ""},
		{"address", execution.Attachment{URL: "https://h/a.png"}, "", "the URL of a file"},
		{"no base64", execution.Attachment{Base64: "%"}, "", "base64 is malformed"},
		{"empty base64", execution.Attachment{}, "", "it is empty"},
		{"long base64", execution.Attachment{Base64: strings.Repeat("AAAA", MaxAttachment/3+1)}, "", "the limit is"},
		{"no file", execution.Attachment{FilePath: filepath.Join(dir, "none")}, "", "read it"},
		{"folder", execution.Attachment{FilePath: dir}, "", "not a regular file"},
		{"big file", execution.Attachment{FilePath: big}, "", "the limit is"},
	} {
		got, err := AttachmentContent(tt.a)
		switch {
		case tt.err == "" && (err != nil || string(got) != tt.want):
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%s: got %v, want an error with %q", tt.name, err, tt.err)
		}
	}
}

func TestAttachmentName(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]execution.Attachment{
		"n": {Name: "n", FilePath: "/a.png"}, "a.png": {FilePath: "/x/a.png"}, "b.png": {URL: "https://h/x/b.png?q"},
		"attachment": {URL: "data:image/png;base64,eA=="},
	} {
		if got := AttachmentName(a); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestConvertAttachments(t *testing.T) {
	t.Parallel()
	convert := func(a execution.Attachment) (string, error) {
		if a.Name == "bad" {
			return "", errors.New("it is bad")
		}
		return a.Name, nil
	}
	got, err := ConvertAttachments("x", []execution.Attachment{{Name: "a"}, {Name: "b"}}, convert)
	if err != nil || strings.Join(got, " ") != "a b" {
		t.Errorf("got %q, %v", got, err)
	}
	_, err = ConvertAttachments("x", []execution.Attachment{{Name: "bad"}, {Name: "a"}, {Name: "bad"}}, convert)
	var typed *execution.Error
	if !errors.As(err, &typed) || typed.Code != execution.CodeValidation || typed.Agent != "x" || len(typed.Fields) != 2 ||
		typed.Fields[1].Field != "message.attachments[2]" {
		t.Errorf("got %#v, want a VALIDATION_ERROR of x with both faults", err)
	}
}
