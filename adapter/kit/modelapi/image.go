package modelapi

import (
	"slices"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// MaxImage limits an image of a tool, in bytes. Every API accepts images of this size; some accept larger ones.
const MaxImage = 3 << 20

// NewImage returns content as an image for the answer of a tool, and false if it is not one that model APIs read: PNG, JPEG, GIF or
// WebP of at most MaxImage bytes. The content decides, not a name.
func NewImage(title string, data []byte) (Part, bool) {
	mediaType := cliagent.SniffMedia(data)
	if cliagent.MediaOf(mediaType) != cliagent.MediaImage || len(data) > MaxImage {
		return Part{}, false
	}
	return Part{Kind: Image, Title: title, MediaType: mediaType, Data: data}, true
}

// show adds the images of results to the conversation. APIs differ in whether a result may contain an image, so they follow the results
// like those of a person, each with its origin. The name of an image is the tool that returned it.
func (c *Conversation) show(results []Part) {
	for i := range results {
		p := &results[i]
		for _, image := range p.images {
			image.Name = p.Name
			c.Say(false, Part{Kind: Text, Text: "The image that the tool " + p.Name + " returned, " + image.Title + ":"}, image)
		}
		p.images = nil
	}
}

// unseen removes the images of tools after a call that the service refused, because its model may see none, and reports whether there
// were any: then the call can be repeated. A person's image stays: they learn that the model cannot see it.
func (r *run) unseen(f *failure) bool {
	return f != nil && f.Code == execution.CodeInvalidRequest && r.dropImages("the service refused it: you cannot see images")
}

// dropImages replaces the images of tools with the reason, and reports whether there were any.
func (r *run) dropImages(why string) (found bool) {
	for i, m := range r.call.Messages {
		parts := slices.Clone(m.Parts)
		for j, p := range parts {
			if p.Kind == Image && p.Name != "" {
				parts[j], found = Part{Kind: Text, Text: "[" + p.MediaType + ", removed: " + why + "]"}, true
			}
		}
		r.call.Messages[i].Parts = parts
	}
	if found && r.log != nil {
		r.log.anew = true
	}
	return found
}
