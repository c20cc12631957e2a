package claude

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

	"github.com/drawbar/drawbar/execution"
)

// maxAttachment bounds one attachment; the model API takes 32 MB for a whole request.
const maxAttachment = 32 << 20

// media is what an attachment is to the model.
type media string

const (
	mediaUnknown media = ""
	mediaImage   media = "image"
	mediaPDF     media = "pdf"
	mediaText    media = "text"
	mediaOther   media = "other" // known, and nothing Claude can take
)

var imageTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// textTypes are the applications/* types that are text.
var textTypes = map[string]bool{"application/json": true, "application/xml": true, "application/yaml": true, "application/x-yaml": true,
	"application/toml": true, "application/javascript": true, "application/typescript": true, "application/sql": true,
	"application/x-sh": true, "application/x-ndjson": true, "application/jsonl": true, "application/graphql": true}

var extensions = map[string]string{".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".pdf": "application/pdf", ".txt": "text/plain", ".md": "text/plain", ".csv": "text/plain", ".tsv": "text/plain", ".json": "text/plain",
	".jsonl": "text/plain", ".xml": "text/plain", ".html": "text/plain", ".htm": "text/plain", ".css": "text/plain", ".svg": "text/plain",
	".yaml": "text/plain", ".yml": "text/plain", ".toml": "text/plain", ".ini": "text/plain", ".log": "text/plain", ".diff": "text/plain",
	".patch": "text/plain", ".sql": "text/plain", ".sh": "text/plain", ".go": "text/plain", ".py": "text/plain", ".js": "text/plain",
	".ts": "text/plain", ".tsx": "text/plain", ".jsx": "text/plain", ".java": "text/plain", ".c": "text/plain", ".h": "text/plain",
	".cpp": "text/plain", ".rs": "text/plain", ".rb": "text/plain", ".php": "text/plain", ".swift": "text/plain", ".kt": "text/plain",
	".bmp": "image/bmp", ".tif": "image/tiff", ".tiff": "image/tiff", ".heic": "image/heic", ".mp3": "audio/mpeg", ".wav": "audio/wav",
	".mp4": "video/mp4", ".mov": "video/quicktime", ".zip": "application/zip", ".gz": "application/gzip", ".docx": "application/msword",
	".xlsx": "application/vnd.ms-excel", ".exe": "application/octet-stream"}

// stated is the media type that an attachment names or its file name implies, empty when neither tells.
func stated(a execution.Attachment) string {
	if a.MimeType != "" {
		t, _, err := mime.ParseMediaType(a.MimeType)
		if err != nil {
			t = strings.ToLower(strings.TrimSpace(a.MimeType))
		}
		return t
	}
	for _, name := range []string{a.Name, a.FilePath, urlPath(a.URL)} {
		if t := extensions[strings.ToLower(path.Ext(filepath.ToSlash(name)))]; t != "" {
			return t
		}
	}
	return ""
}

func urlPath(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Path
}

func kindOf(mediaType string) media {
	switch {
	case mediaType == "" || mediaType == "application/octet-stream":
		return mediaUnknown
	case imageTypes[mediaType]:
		return mediaImage
	case mediaType == "application/pdf":
		return mediaPDF
	case mediaType == "image/svg+xml" || strings.HasPrefix(mediaType, "text/") || textTypes[mediaType] || strings.HasSuffix(mediaType, "+json") || strings.HasSuffix(mediaType, "+xml"):
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
	case bytes.HasPrefix(data, []byte("%PDF-")):
		return "application/pdf"
	case utf8.Valid(data) && bytes.IndexByte(data, 0) < 0:
		return "text/plain"
	}
	return "application/octet-stream"
}

// attachments are the content blocks of a message's attachments. Files are read here; every fault of every attachment
// is in the one error.
func attachments(list []execution.Attachment) ([]any, error) {
	var blocks []any
	var faults execution.FieldErrors
	for i, a := range list {
		block, err := attachment(a)
		if err != nil {
			faults = append(faults, execution.FieldError{Field: fmt.Sprintf("message.attachments[%d]", i), Message: err.Error()})
			continue
		}
		blocks = append(blocks, block)
	}
	if len(faults) > 0 {
		e := execution.Errorf(execution.CodeValidation, "attachments claude cannot take: %s", faults.Error())
		e.Fields, e.Agent = faults, name
		return nil, e
	}
	return blocks, nil
}

func attachment(a execution.Attachment) (any, error) {
	title := cmp.Or(a.Name, filepath.Base(cmp.Or(a.FilePath, urlPath(a.URL), "attachment")))
	if a.URL != "" {
		source := map[string]any{"type": "url", "url": a.URL}
		switch kindOf(stated(a)) {
		case mediaImage:
			return map[string]any{"type": "image", "source": source}, nil
		case mediaPDF:
			return map[string]any{"type": "document", "source": source, "title": title}, nil
		}
		return nil, fmt.Errorf("a URL must lead to a PNG, JPEG, GIF or WebP image or a PDF; state its mimeType if the name does not tell")
	}
	data, err := content(a)
	if err != nil {
		return nil, err
	}
	mediaType := stated(a)
	if kindOf(mediaType) == mediaUnknown {
		mediaType = sniff(data)
	}
	switch kindOf(mediaType) {
	case mediaImage:
		return map[string]any{"type": "image", "source": encoded(mediaType, data)}, nil
	case mediaPDF:
		return map[string]any{"type": "document", "source": encoded(mediaType, data), "title": title}, nil
	case mediaText:
		if !utf8.Valid(data) {
			return nil, fmt.Errorf("%s is no UTF-8 text", title)
		}
		return map[string]any{"type": "document", "title": title,
			"source": map[string]any{"type": "text", "media_type": "text/plain", "data": string(data)}}, nil
	}
	return nil, fmt.Errorf("%s has the media type %s; claude takes PNG, JPEG, GIF and WebP images, PDF and text", title, mediaType)
}

func encoded(mediaType string, data []byte) map[string]any {
	return map[string]any{"type": "base64", "media_type": mediaType, "data": base64.StdEncoding.EncodeToString(data)}
}

// content is the bytes of an attachment that is not a URL.
func content(a execution.Attachment) ([]byte, error) {
	if a.FilePath == "" {
		data, err := base64.StdEncoding.DecodeString(a.Base64)
		switch {
		case err != nil:
			return nil, fmt.Errorf("base64 is malformed: %v", err)
		case len(data) == 0:
			return nil, fmt.Errorf("it is empty")
		case len(data) > maxAttachment:
			return nil, fmt.Errorf("it has %d bytes, at most %d are possible", len(data), maxAttachment)
		}
		return data, nil
	}
	info, err := os.Stat(a.FilePath)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read it: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", a.FilePath)
	case info.Size() == 0:
		return nil, fmt.Errorf("%s is empty", a.FilePath)
	case info.Size() > maxAttachment:
		return nil, fmt.Errorf("%s has %d bytes, at most %d are possible", a.FilePath, info.Size(), maxAttachment)
	}
	data, err := os.ReadFile(a.FilePath)
	if err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	return data, nil
}
