package pi

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

// spawn returns the command line of a run. Long texts go through private files, which Pi accepts in their place; the
// message goes through standard input.
func spawn(l *cliagent.Launch) (cliagent.Invocation, error) {
	req, run := l.Request, l.Request.Run
	args := []string{"--mode", "rpc"}
	switch session, fork := cliagent.SessionOf(req); {
	case strings.HasPrefix(session, "-"):
		return cliagent.Invocation{}, execution.Errorf(execution.CodeSessionNotFound, "%q is not a session of pi", session)
	case fork:
		args = append(args, "--fork", session)
	case session != "":
		args = append(args, "--session", session)
	}
	if _, trusted := l.Inherit(cliagent.Decided{Path: filepath.Join(home.Of(l), "trust.json"), Trust: true}); trusted {
		args = append(args, "--approve")
	}
	if run.NoSession {
		args = append(args, "--no-session")
	}
	if run.Model != "" {
		args = append(args, modelFlag, run.Model)
	}
	if run.ThinkingEffort != "" {
		args = append(args, "--thinking", string(run.ThinkingEffort))
	}
	replace, added := cliagent.Instructions(req)
	if replace != "" {
		args = append(args, "--system-prompt", l.File("system-prompt.md", []byte(replace)))
	}
	if added != "" {
		args = append(args, "--append-system-prompt", l.File("append-system-prompt.md", []byte(added)))
	}
	if len(run.Skills) > 0 {
		if err := l.Skills("skills"); err != nil {
			return cliagent.Invocation{}, err
		}
		args = append(args, "--skill", filepath.Join(l.Dir, "skills"))
	}
	if run.ApprovalMode == execution.ApprovalDeny {
		args = append(args, "--tools", strings.Join(slices.Concat(reading, freeTools(req)), ","))
	}
	extension, err := gateFile(l)
	if err != nil {
		return cliagent.Invocation{}, err
	}
	if extension != nil {
		args = append(args, "--extension", l.File("gate.js", extension))
	}
	images, texts, err := attachments(req)
	if err != nil {
		return cliagent.Invocation{}, err
	}
	p := l.Parser.(*parser)
	p.images, p.texts, p.hooked = images, texts, l.Hook != nil
	return cliagent.Invocation{Args: args, KeepStdin: true}, nil
}

// attachment is an attachment as Pi accepts it: an image, or a text behind the message.
type attachment struct {
	image *image
	text  string
}

// attachments returns the images of the prompt and the texts that follow the message.
func attachments(req execution.Request) (images []image, texts string, err error) {
	parts, err := cliagent.ConvertAttachments(name, req.Message.Attachments, func(a execution.Attachment) (attachment, error) {
		r, err := cliagent.ReadAttachment(a)
		switch {
		case err != nil:
			return attachment{}, err
		case r.Kind == cliagent.MediaImage && len(r.Data) > 0:
			return attachment{image: &image{Type: "image", Data: r.Data, MimeType: r.MediaType}}, nil
		case r.Kind == cliagent.MediaText:
			return attachment{text: cliagent.FileBlock(r.Title, string(r.Data))}, nil
		}
		return attachment{}, fmt.Errorf("%s has the media type %s; pi takes %s", r.Title, r.MediaType, takes)
	})
	for _, p := range parts {
		if p.image != nil {
			images = append(images, *p.image)
		} else {
			texts += "\n\n" + p.text
		}
	}
	return images, texts, err
}
