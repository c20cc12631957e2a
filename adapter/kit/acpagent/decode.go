package acpagent

import (
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// lineForm is a line of the agent, read in one pass. It is more lenient than the SDK's strict types: missing required
// fields and unknown fields are accepted.
type lineForm struct {
	ID, Method, Result, Error jsonscan.Value
	Params                    struct {
		_         jsonscan.Camel
		SessionID jsonscan.Value
		Whole     jsonscan.Value `scan:"."`
		Update    struct {
			SessionUpdate, MessageID jsonscan.Value
			Whole                    jsonscan.Value `scan:"."`
			Content                  struct{ Type, Text jsonscan.Value }
		}
	}
}

var lineShape jsonscan.Shape[lineForm]

// promptAbilities are the content types besides text and URLs that an agent accepts in a prompt.
type promptAbilities struct {
	image, audio, embedded bool
	inline                 bool              // Spec.InlineOnly
	inlineTexts            bool              // and Spec.InlineTexts
	blobs                  func(string) bool // Spec.Blobs
}

// abilities are what an agent declares.
type abilities struct {
	version            int64
	name, title, build string
	load, resume, fork bool
	prompt             promptAbilities
	http, sse          bool
	logins             []AuthMethod
}

type abilityForm struct {
	_                            jsonscan.Camel
	ProtocolVersion, AuthMethods jsonscan.Value
	AgentInfo                    struct{ Name, Title, Version jsonscan.Value }
	AgentCapabilities            struct {
		LoadSession         jsonscan.Value
		SessionCapabilities struct{ Resume, Fork jsonscan.Value }
		PromptCapabilities  struct{ Image, Audio, EmbeddedContext jsonscan.Value }
		MCPCapabilities     struct{ HTTP, SSE jsonscan.Value }
	}
}

var abilityShape jsonscan.Shape[abilityForm]

func abilitiesOf(result jsonscan.Value) (a abilities, ok bool) {
	var v abilityForm
	if !abilityShape.From(result, &v) {
		return a, false
	}
	c := &v.AgentCapabilities
	in := &c.PromptCapabilities
	a = abilities{name: v.AgentInfo.Name.Str(), title: v.AgentInfo.Title.Str(), build: v.AgentInfo.Version.Str(), load: c.LoadSession.IsTrue(),
		resume: c.SessionCapabilities.Resume.Kind() == jsonscan.Object, fork: c.SessionCapabilities.Fork.Kind() == jsonscan.Object,
		prompt: promptAbilities{image: in.Image.IsTrue(), audio: in.Audio.IsTrue(), embedded: in.EmbeddedContext.IsTrue()},
		http:   c.MCPCapabilities.HTTP.IsTrue(), sse: c.MCPCapabilities.SSE.IsTrue()}
	for _, m := range v.AuthMethods.Array {
		a.logins = append(a.logins, AuthMethod{ID: m.Get("id").Str(), Name: m.Get("name").Str(), Description: m.Get("description").Str()})
	}
	a.version, ok = v.ProtocolVersion.Int()
	return a, ok
}

// choice is one value of a session setting: a mode, a model, a config option's value.
type choice struct{ id, name string }

// configOption is a setting of a session.
type configOption struct {
	id, category, current string
	values                []choice
}

// session is the agent's reply that opens a session.
type session struct {
	id            string
	mode, model   string // current values
	modes, models []choice
	options       []configOption
}

func sessionOf(result jsonscan.Value) session {
	s := session{id: result.Get("sessionId").Str()}
	modes, models := result.Get("modes"), result.Get("models")
	s.mode, s.modes = modes.Get("currentModeId").Str(), choices(modes.Get("availableModes"), "id")
	s.model, s.models = models.Get("currentModelId").Str(), choices(models.Get("availableModels"), "modelId")
	s.options = configOptions(result.Get("configOptions"))
	if o := s.option("model"); o != nil && s.model == "" {
		s.model = o.current
	}
	return s
}

func configOptions(list jsonscan.Value) []configOption {
	var options []configOption
	for _, o := range list.Array {
		opt := configOption{id: o.Get("id").Str(), category: o.Get("category").Str(), current: o.Get("currentValue").Str()}
		for _, v := range o.Get("options").Array {
			if group := v.Get("options"); group.Kind() == jsonscan.Array {
				opt.values = append(opt.values, choices(group, "value")...)
				continue
			}
			opt.values = append(opt.values, choice{v.Get("value").Str(), v.Get("name").Str()})
		}
		options = append(options, opt)
	}
	return options
}

func choices(list jsonscan.Value, id string) []choice {
	var all []choice
	for _, c := range list.Array {
		all = append(all, choice{c.Get(id).Str(), c.Get("name").Str()})
	}
	return all
}

// option returns the setting of a category, or with that name; nil for none. Of several in the category, such as a
// provider beside its models, the one with that name wins.
func (s *session) option(category string) *configOption {
	var found *configOption
	for i, o := range s.options {
		if o.id == category && (o.category == category || o.category == "") {
			return &s.options[i]
		}
		if o.category == category && found == nil {
			found = &s.options[i]
		}
	}
	return found
}

// pick finds a choice by its id or by an unambiguous name.
func pick(all []choice, want string) (id string, ok bool) {
	n := 0
	for _, c := range all {
		if c.id == want {
			return c.id, true
		}
		if c.name == want {
			id = c.id
			n++
		}
	}
	return id, n == 1
}

type callForm struct {
	_                                                                              jsonscan.Camel
	ToolCallID, Title, Kind, Name, Status, RawInput, RawOutput, Content, Locations jsonscan.Value
	Meta                                                                           jsonscan.Value `scan:"_meta"`
}

var callShape jsonscan.Shape[callForm]

// toolCallOf reads a tool call, an update of one, or that of a permission request. It returns false if no call is
// named.
func toolCallOf(v jsonscan.Value) (*ToolCall, bool) {
	var f callForm
	if !callShape.From(v, &f) {
		return nil, false
	}
	c := &ToolCall{ID: f.ToolCallID.Str(), Title: f.Title.Str(), Kind: f.Kind.Str(), Name: f.Name.Str(), Status: f.Status.Str(),
		Input: clone(f.RawInput), Output: clone(f.RawOutput), Meta: clone(f.Meta)}
	if f.Meta.Exists() {
		for _, name := range []string{"terminal_output_delta", "terminal_output"} {
			c.Terminal += f.Meta.Get(name).Get("data").Str()
		}
	}
	if f.Content.Kind() == jsonscan.Array {
		c.Content = []Content{}
		for _, part := range f.Content.Array {
			c.Content = append(c.Content, contentOf(part))
		}
	}
	if f.Locations.Kind() == jsonscan.Array {
		c.Locations = []string{}
		for _, l := range f.Locations.Array {
			if path := l.Get("path").Str(); path != "" {
				c.Locations = append(c.Locations, path)
			}
		}
	}
	return c, c.ID != ""
}

func contentOf(part jsonscan.Value) Content {
	if part.Get("type").IsStr("diff") {
		d := &Diff{Path: part.Get("path").Str(), New: part.Get("newText").Str()}
		// Agents that do not distinguish new from empty files state an empty text for both.
		if old := part.Get("oldText").Str(); old != "" {
			d.Old = &old
		}
		return Content{Diff: d}
	}
	return blockOf(part.Get("content"))
}

// blockOf reads a content block: its text or its image, or the text or URL of a resource.
func blockOf(v jsonscan.Value) Content {
	kind, _ := v.Get("type").Plain()
	switch string(kind) {
	case "text":
		return Content{Text: v.Get("text").Str()}
	case "image":
		return Content{Image: &Image{MimeType: v.Get("mimeType").Str(), Data: v.Get("data").Str()}}
	case "resource_link":
		return Content{Text: v.Get("uri").Str()}
	case "resource":
		r := v.Get("resource")
		if text := r.Get("text").Str(); text != "" {
			return Content{Text: text}
		}
		return Content{Text: r.Get("uri").Str()}
	}
	return Content{}
}
