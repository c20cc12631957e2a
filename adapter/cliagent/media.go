package cliagent

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/drawbar/drawbar/execution"
)

// MediaClass is what an attachment is in the eyes of an agent.
type MediaClass int

// The classes of media. Of unknown ones the content has to tell.
const (
	MediaUnknown MediaClass = iota
	MediaImage
	MediaText
	MediaPDF
	MediaAudio
	MediaOther
)

// imageTypes are the images that models take.
var imageTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// textTypes are the types outside text/* that are text.
var textTypes = map[string]bool{"application/json": true, "application/xml": true, "application/yaml": true, "application/x-yaml": true,
	"application/toml": true, "application/javascript": true, "application/typescript": true, "application/sql": true,
	"application/x-sh": true, "application/x-ndjson": true, "application/jsonl": true, "application/graphql": true, "image/svg+xml": true}

// mediaTypes name by file extension what cannot be told from the content, or should be told without reading it.
var mediaTypes = func() map[string]string {
	m := map[string]string{".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
		".pdf": "application/pdf", ".bmp": "image/bmp", ".tif": "image/tiff", ".tiff": "image/tiff", ".heic": "image/heic",
		".mp3": "audio/mpeg", ".wav": "audio/wav", ".mp4": "video/mp4", ".mov": "video/quicktime", ".zip": "application/zip",
		".gz": "application/gzip", ".docx": "application/msword", ".xlsx": "application/vnd.ms-excel", ".exe": "application/octet-stream"}
	for _, text := range strings.Fields(".txt .md .csv .tsv .json .jsonl .xml .html .htm .css .svg .yaml .yml .toml .ini .log .diff .patch .sql .sh " +
		".go .py .js .ts .tsx .jsx .java .c .h .cpp .rs .rb .php .swift .kt") {
		m[text] = "text/plain"
	}
	return m
}()

// MediaType is the media type that an attachment names or its file name implies, without parameters; empty when neither tells.
func MediaType(a execution.Attachment) string {
	if a.MimeType != "" {
		return plainType(a.MimeType)
	}
	if t, _, ok := DataURL(a.URL); ok {
		return t
	}
	for _, name := range []string{a.Name, a.FilePath, URLPath(a.URL)} {
		if t := mediaTypes[strings.ToLower(path.Ext(filepath.ToSlash(name)))]; t != "" {
			return t
		}
	}
	return ""
}

func plainType(s string) string {
	if t, _, err := mime.ParseMediaType(s); err == nil {
		return t
	}
	return strings.ToLower(strings.TrimSpace(s))
}

// URLPath is the path of an address, empty for what is none.
func URLPath(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Path
}

// DataURL takes a data: URL with base64 content apart; false for any other address.
func DataURL(raw string) (mediaType, content string, ok bool) {
	if len(raw) < 5 || !strings.EqualFold(raw[:5], "data:") {
		return "", "", false
	}
	head, content, ok := strings.Cut(raw[5:], ",")
	if !ok {
		return "", "", false
	}
	if head, ok = strings.CutSuffix(head, ";base64"); !ok {
		return "", "", false
	}
	return plainType(head), content, true
}

// ClassOf is the class of a media type. Images that models do not take are other media.
func ClassOf(mediaType string) MediaClass {
	switch t := mediaType; {
	case t == "" || t == "application/octet-stream":
		return MediaUnknown
	case imageTypes[t]:
		return MediaImage
	case t == "application/pdf":
		return MediaPDF
	case textTypes[t] || strings.HasPrefix(t, "text/") || strings.HasSuffix(t, "+json") || strings.HasSuffix(t, "+xml"):
		return MediaText
	case strings.HasPrefix(t, "audio/"):
		return MediaAudio
	}
	return MediaOther
}

// SniffMedia tells from the content what nothing else tells.
func SniffMedia(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(data, []byte("GIF8")):
		return "image/gif"
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return "image/webp"
	case bytes.HasPrefix(data, []byte("%PDF-")):
		return "application/pdf"
	case utf8.Valid(data) && bytes.IndexByte(data, 0) < 0:
		return "text/plain"
	}
	return "application/octet-stream"
}

// AttachmentContent is the bytes of an attachment: of its file, its base64 or its data: URL, at most limit of them. Nothing is fetched
// from any other address.
func AttachmentContent(a execution.Attachment, limit int) ([]byte, error) {
	encoded := a.Base64
	switch {
	case a.URL != "":
		_, inline, ok := DataURL(a.URL)
		if !ok {
			return nil, errors.New("it is an address, which is not fetched; give it as a file, as base64 or as a data: URL")
		}
		encoded = inline
	case a.FilePath != "":
		return fileContent(a.FilePath, limit)
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	switch {
	case err != nil:
		return nil, fmt.Errorf("base64 is malformed: %v", err)
	case len(data) == 0:
		return nil, errors.New("it is empty")
	case len(data) > limit:
		return nil, fmt.Errorf("it has %d bytes, at most %d are possible", len(data), limit)
	}
	return data, nil
}

func fileContent(file string, limit int) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read it: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", file)
	case info.Size() > int64(limit):
		return nil, fmt.Errorf("%s has %d bytes, at most %d are possible", file, info.Size(), limit)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	return data, nil
}
