package cliagent

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/drawbar/drawbar/execution"
)

// MaxAttachment bounds one attachment; model APIs accept about that much per request.
const MaxAttachment = 32 << 20

// Media is the kind of an attachment. Adapters decide which kinds their agents accept.
type Media string

// The kinds of attachments.
const (
	MediaUnknown Media = "" // unknown from media type and name; the content decides
	MediaImage   Media = "image"
	MediaPDF     Media = "pdf"
	MediaText    Media = "text"
	MediaAudio   Media = "audio"
	MediaOther   Media = "other" // known, and none of these
)

var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// textTypes are the text types outside text/*.
var textTypes = []string{"application/json", "application/xml", "application/yaml", "application/x-yaml",
	"application/toml", "application/javascript", "application/typescript", "application/sql",
	"application/x-sh", "application/x-ndjson", "application/jsonl", "application/graphql", "image/svg+xml"}

// MediaOf returns the kind of a media type.
func MediaOf(mediaType string) Media {
	switch {
	case mediaType == "" || mediaType == "application/octet-stream":
		return MediaUnknown
	case slices.Contains(imageTypes, mediaType):
		return MediaImage
	case mediaType == "application/pdf":
		return MediaPDF
	case slices.Contains(textTypes, mediaType) || strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "+json") || strings.HasSuffix(mediaType, "+xml"):
		return MediaText
	case strings.HasPrefix(mediaType, "audio/"):
		return MediaAudio
	}
	return MediaOther
}

// SniffMedia detects a media type from the content.
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

// MakeDataURL returns content as a data: URL.
func MakeDataURL(mediaType string, data []byte) string {
	return "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// AttachmentName returns the name of an attachment, or of its file, for the model.
func AttachmentName(a execution.Attachment) string {
	return cmp.Or(a.Name, filepath.Base(cmp.Or(a.FilePath, a.URLPath(), "attachment")))
}

// AttachmentContent returns the content of an attachment that is a file, base64 or a data: URL, at most MaxAttachment
// bytes. Other URLs are refused: adapters download nothing.
func AttachmentContent(a execution.Attachment) ([]byte, error) {
	encoded := a.Base64
	switch {
	case a.URL != "":
		_, inline, ok := execution.DataURL(a.URL)
		if !ok {
			return nil, fmt.Errorf("it is the URL of a file; give the file itself, base64 or a data: URL")
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
	case len(data) > MaxAttachment:
		return nil, fmt.Errorf("it has %d bytes; the limit is %d", len(data), MaxAttachment)
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
	case info.Size() > MaxAttachment:
		return nil, fmt.Errorf("%s has %d bytes; the limit is %d", file, info.Size(), MaxAttachment)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	return data, nil
}

// Attached is the content of an attachment and what it is.
type Attached struct {
	Title, MediaType string
	Kind             Media
	Data             []byte
}

// ReadAttachment reads an attachment, and detects its type from the content if nothing states it. Text must be UTF-8.
func ReadAttachment(a execution.Attachment) (Attached, error) {
	data, err := AttachmentContent(a)
	if err != nil {
		return Attached{}, err
	}
	r := Attached{Title: AttachmentName(a), MediaType: a.MediaType(), Data: data}
	if MediaOf(r.MediaType) == MediaUnknown {
		r.MediaType = SniffMedia(data)
	}
	if r.Kind = MediaOf(r.MediaType); r.Kind == MediaText && !utf8.Valid(data) {
		return Attached{}, fmt.Errorf("%s is not UTF-8 text", r.Title)
	}
	return r, nil
}

// ConvertAttachments converts a message's attachments to an agent's format. One error lists every fault and names the
// agent.
func ConvertAttachments[T any](agent string, list []execution.Attachment, convert func(execution.Attachment) (T, error)) ([]T, error) {
	var all []T
	var faults execution.FieldErrors
	for i, a := range list {
		part, err := convert(a)
		if err != nil {
			faults = append(faults, execution.FieldError{Field: fmt.Sprintf("message.attachments[%d]", i), Message: err.Error()})
			continue
		}
		all = append(all, part)
	}
	if len(faults) > 0 {
		e := execution.Errorf(execution.CodeValidation, "attachments that %s does not support: %s", agent, faults.Error())
		e.Fields, e.Agent = faults, agent
		return nil, e
	}
	return all, nil
}

// InlineAttachments replaces the files of a message by their content, for an agent that is not on this machine.
func InlineAttachments(agent string, list []execution.Attachment) ([]execution.Attachment, error) {
	return ConvertAttachments(agent, list, func(a execution.Attachment) (execution.Attachment, error) {
		if a.FilePath == "" {
			return a, nil
		}
		read, err := ReadAttachment(a)
		a.Name, a.FilePath, a.MimeType, a.Base64 = read.Title, "", read.MediaType, base64.StdEncoding.EncodeToString(read.Data)
		return a, err
	})
}
