package codex

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"mime"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/drawbar/drawbar/adapter/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// maxImage bounds one image, which is sent on as base64. maxPrompt is what Codex takes as one message, texts of
// attachments included.
const (
	maxImage  = 32 << 20
	maxPrompt = 1 << 20 // characters
)

type media int

const (
	mediaUnknown media = iota // the content has to tell
	mediaImage
	mediaText
	mediaOther // known, and nothing Codex can take
)

var imageTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// textTypes are the types outside text/* that are text.
var textTypes = map[string]bool{"application/json": true, "application/xml": true, "application/yaml": true, "application/x-yaml": true,
	"application/toml": true, "application/javascript": true, "application/typescript": true, "application/sql": true,
	"application/x-sh": true, "application/x-ndjson": true, "application/jsonl": true, "application/graphql": true, "image/svg+xml": true}

// extensions name what cannot be told from the content, or should be told without reading it.
var extensions = map[string]string{".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".txt": "text/plain", ".md": "text/plain", ".csv": "text/plain", ".json": "text/plain", ".jsonl": "text/plain", ".xml": "text/plain",
	".html": "text/plain", ".css": "text/plain", ".svg": "text/plain", ".yaml": "text/plain", ".yml": "text/plain", ".toml": "text/plain",
	".log": "text/plain", ".diff": "text/plain", ".patch": "text/plain", ".sql": "text/plain", ".sh": "text/plain",
	".pdf": "application/pdf", ".bmp": "image/bmp", ".tif": "image/tiff", ".tiff": "image/tiff", ".heic": "image/heic",
	".mp3": "audio/mpeg", ".wav": "audio/wav", ".mp4": "video/mp4", ".mov": "video/quicktime", ".zip": "application/zip",
	".gz": "application/gzip", ".docx": "application/msword", ".xlsx": "application/vnd.ms-excel"}

// stated is the media type that an attachment names or its file name implies, empty when neither tells.
func stated(a execution.Attachment) string {
	if a.MimeType != "" {
		return mediaType(a.MimeType)
	}
	if t, _, ok := dataURL(a.URL); ok {
		return t
	}
	for _, name := range []string{a.Name, a.FilePath, urlPath(a.URL)} {
		if t := extensions[strings.ToLower(path.Ext(filepath.ToSlash(name)))]; t != "" {
			return t
		}
	}
	return ""
}

func mediaType(s string) string {
	if t, _, err := mime.ParseMediaType(s); err == nil {
		return t
	}
	return strings.ToLower(strings.TrimSpace(s))
}

func urlPath(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Path
}

// dataURL takes a data: URL with base64 content apart.
func dataURL(raw string) (mime, content string, ok bool) {
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
	return mediaType(head), content, true
}

func kindOf(t string) media {
	switch {
	case t == "" || t == "application/octet-stream":
		return mediaUnknown
	case imageTypes[t]:
		return mediaImage
	case textTypes[t] || strings.HasPrefix(t, "text/") || strings.HasSuffix(t, "+json") || strings.HasSuffix(t, "+xml"):
		return mediaText
	}
	return mediaOther
}

// sniff tells from the content what nothing else tells.
func sniff(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(data, []byte("GIF8")):
		return "image/gif"
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return "image/webp"
	case utf8.Valid(data) && bytes.IndexByte(data, 0) < 0:
		return "text/plain"
	}
	return "application/octet-stream"
}

// part is one attachment as Codex takes it: an image by path or by data: URL, or a text.
type part struct {
	path  string
	image string
	text  string
}

// parts are a message's attachments. Texts are read here; every fault of every attachment is in the one error.
func parts(list []execution.Attachment) ([]part, error) {
	var all []part
	var faults execution.FieldErrors
	for i, a := range list {
		p, err := attachment(a)
		if err != nil {
			faults = append(faults, execution.FieldError{Field: fmt.Sprintf("message.attachments[%d]", i), Message: err.Error()})
			continue
		}
		all = append(all, p)
	}
	if len(faults) > 0 {
		e := execution.Errorf(execution.CodeValidation, "attachments codex cannot take: %s", faults.Error())
		e.Fields, e.Agent = faults, name
		return nil, e
	}
	return all, nil
}

func attachment(a execution.Attachment) (part, error) {
	title := cmp.Or(a.Name, filepath.Base(cmp.Or(a.FilePath, "attachment")))
	t := stated(a)
	if kindOf(t) == mediaOther {
		return part{}, fmt.Errorf("%s has the media type %s; codex takes PNG, JPEG, GIF and WebP images and text", title, t)
	}
	if kindOf(t) == mediaImage && a.FilePath != "" {
		return part{path: a.FilePath}, nil
	}
	data, err := content(a)
	if err != nil {
		return part{}, err
	}
	if kindOf(t) == mediaUnknown {
		t = sniff(data)
	}
	switch {
	case kindOf(t) == mediaImage && a.FilePath != "":
		return part{path: a.FilePath}, nil
	case kindOf(t) == mediaImage:
		return part{image: "data:" + t + ";base64," + base64.StdEncoding.EncodeToString(data)}, nil
	case kindOf(t) == mediaText && utf8.Valid(data):
		return part{text: cliagent.FileBlock(title, string(data))}, nil
	case kindOf(t) == mediaText:
		return part{}, fmt.Errorf("%s is no UTF-8 text", title)
	}
	return part{}, fmt.Errorf("%s is neither an image nor text; codex takes PNG, JPEG, GIF and WebP images and text", title)
}

// content is the bytes of an attachment.
func content(a execution.Attachment) ([]byte, error) {
	encoded := a.Base64
	switch {
	case a.URL != "":
		_, inline, ok := dataURL(a.URL)
		if !ok {
			return nil, fmt.Errorf("codex takes no address of an image; give it as a file, as base64 or as a data: URL")
		}
		encoded = inline
	case a.FilePath != "":
		return fileContent(a.FilePath)
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	switch {
	case err != nil:
		return nil, fmt.Errorf("base64 is malformed: %v", err)
	case len(data) == 0:
		return nil, fmt.Errorf("it is empty")
	case len(data) > maxImage:
		return nil, fmt.Errorf("it has %d bytes, at most %d are possible", len(data), maxImage)
	}
	return data, nil
}

func fileContent(file string) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read it: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", file)
	case info.Size() > maxImage:
		return nil, fmt.Errorf("%s has %d bytes, at most %d are possible", file, info.Size(), maxImage)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	return data, nil
}
