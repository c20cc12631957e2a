package execution

import (
	"mime"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// mediaExtensions are types that the content does not reveal, or that need not be read from it.
var mediaExtensions = sync.OnceValue(func() map[string]string {
	return map[string]string{".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
		".pdf": "application/pdf", ".txt": "text/plain", ".md": "text/plain", ".csv": "text/plain", ".tsv": "text/plain", ".json": "text/plain",
		".jsonl": "text/plain", ".xml": "text/plain", ".html": "text/plain", ".htm": "text/plain", ".css": "text/plain", ".svg": "text/plain",
		".yaml": "text/plain", ".yml": "text/plain", ".toml": "text/plain", ".ini": "text/plain", ".log": "text/plain", ".diff": "text/plain",
		".patch": "text/plain", ".sql": "text/plain", ".sh": "text/plain", ".go": "text/plain", ".py": "text/plain", ".js": "text/plain",
		".ts": "text/plain", ".tsx": "text/plain", ".jsx": "text/plain", ".java": "text/plain", ".c": "text/plain", ".h": "text/plain",
		".cpp": "text/plain", ".rs": "text/plain", ".rb": "text/plain", ".php": "text/plain", ".swift": "text/plain", ".kt": "text/plain",
		".bmp": "image/bmp", ".tif": "image/tiff", ".tiff": "image/tiff", ".heic": "image/heic", ".mp3": "audio/mpeg", ".wav": "audio/wav",
		".mp4": "video/mp4", ".mov": "video/quicktime", ".zip": "application/zip", ".gz": "application/gzip", ".docx": "application/msword",
		".xlsx": "application/vnd.ms-excel", ".exe": "application/octet-stream"}
})

// MediaType returns the media type that an attachment states or its file name implies, empty if unknown. It reads
// nothing.
func (a Attachment) MediaType() string {
	if a.MimeType != "" {
		return plainType(a.MimeType)
	}
	if t, _, ok := DataURL(a.URL); ok {
		return t
	}
	for _, name := range []string{a.Name, a.FilePath, a.URLPath()} {
		if t := mediaExtensions()[strings.ToLower(path.Ext(filepath.ToSlash(name)))]; t != "" {
			return t
		}
	}
	return ""
}

// plainType returns a media type without its parameters.
func plainType(s string) string {
	if t, _, err := mime.ParseMediaType(s); err == nil {
		return t
	}
	return strings.ToLower(strings.TrimSpace(s))
}

// URLPath returns the path in an attachment's URL, empty for none.
func (a Attachment) URLPath() string {
	u, err := url.Parse(a.URL)
	if err != nil {
		return ""
	}
	return u.Path
}

// DataURL splits a data: URL with base64 content; ok is false for anything else.
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
