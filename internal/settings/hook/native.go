package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/drawbar/drawbar/adapter/kit/configfile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/settings/configstore"
	"github.com/drawbar/drawbar/settings"
)

// Mark ends the commands that Drawbar registers with agents; they are recognized by it, wherever the program
// was located at the time.
func Mark(agentName, event string) string { return " hooks handle " + agentName + " " + event }

// Install registers a group of hooks in an agent's file. It returns false if Drawbar's command is already
// there, and the group's index in its list. A file that somebody else wrote is not replaced.
func Install(ctx context.Context, place settings.HookPlace, mark string) (changed bool, index int, err error) {
	if place.Program != "" {
		changed, err = configstore.Replace(ctx, place.File, func(before []byte) ([]byte, bool, error) {
			return []byte(place.Program), string(before) != place.Program, foreign(place, before)
		}, options(place))
		return changed, 0, err
	}
	changed, err = configstore.Edit(ctx, place.File, configfile.Format(place.Format), func(d *configfile.Document) (bool, error) {
		for _, m := range place.Base {
			if _, ok := d.Get(configfile.Path{m.Key}); !ok {
				if err := d.Set(configfile.Path{m.Key}, m.Value); err != nil {
					return false, err
				}
			}
		}
		list, err := listAt(d, place)
		if err != nil {
			return false, err
		}
		if index = find(list, mark); index >= 0 {
			return false, nil
		}
		index = len(list)
		return true, appendTo(d, place, list)
	}, options(place))
	return changed, index, err
}

// Uninstall removes Drawbar's groups or its file. It returns false if there are none.
func Uninstall(ctx context.Context, place settings.HookPlace, mark string) (bool, error) {
	if place.Program != "" {
		return configstore.Replace(ctx, place.File, func(before []byte) ([]byte, bool, error) {
			return nil, before != nil, foreign(place, before)
		}, options(place))
	}
	return configstore.Edit(ctx, place.File, configfile.Format(place.Format), func(d *configfile.Document) (bool, error) {
		changed := false
		for {
			list, err := listAt(d, place)
			if err != nil {
				return false, err
			}
			i := find(list, mark)
			if i < 0 {
				return changed, nil
			}
			if err := removeFrom(d, place, list, i); err != nil {
				return false, err
			}
			changed = true
		}
	}, options(place))
}

// Installed reports whether the content of an agent's file contains Drawbar's command.
func Installed(place settings.HookPlace, data []byte, mark string) (bool, error) {
	if place.Program != "" {
		return foreign(place, data) == nil, nil
	}
	d, err := configfile.Parse(configfile.Format(place.Format), place.File, data)
	if err != nil {
		return false, err
	}
	list, err := listAt(d, place)
	return find(list, mark) >= 0, err
}

// Ready returns an error if the content of an agent's file keeps Install from changing it.
func Ready(place settings.HookPlace, data []byte, mark string) error {
	if place.Program != "" {
		return foreign(place, data)
	}
	if _, err := Installed(place, data, mark); err != nil {
		return execution.Errorf(execution.CodeConfig, "%w", err).WithHint("fix the file: drawbar does not change a file that it cannot parse")
	}
	return nil
}

// foreign returns an error if the file of a program exists and is not Drawbar's.
func foreign(place settings.HookPlace, data []byte) error {
	if data == nil || bytes.Contains(data, []byte(settings.HookSignature)) {
		return nil
	}
	return execution.Errorf(execution.CodeConfig, "%s exists and was not written by drawbar hooks install", place.File).
		WithHint("rename or move it: drawbar does not change a program of somebody else")
}

func options(place settings.HookPlace) configstore.Options {
	o := configstore.Options{Within: place.Within}
	if place.Within != "" {
		o.Mode = 0o644 // a project's files are shared
	}
	return o
}

// listAt returns the list at a place, nil if there is none.
func listAt(d *configfile.Document, place settings.HookPlace) ([]any, error) {
	v, ok := d.Get(place.Path)
	if !ok {
		return nil, nil
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%s: %s is not a list of hooks", place.File, strings.Join(place.Path, "."))
	}
	return list, nil
}

// find returns the index of the group that contains a command with the mark, -1 if none.
func find(list []any, mark string) int {
	return slices.IndexFunc(list, func(group any) bool { return holds(group, mark) })
}

func holds(v any, mark string) bool {
	switch v := v.(type) {
	case string:
		return strings.HasSuffix(v, mark)
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return holds(e, mark) })
	case map[string]any:
		for _, e := range v {
			if holds(e, mark) {
				return true
			}
		}
	}
	return false
}

// appendTo appends the group; the others keep every byte.
func appendTo(d *configfile.Document, place settings.HookPlace, list []any) error {
	if len(list) == 0 {
		return d.Set(place.Path, []any{place.Group})
	}
	return splice(d, place, func(a *hujson.Array) error {
		last := &a.Elements[len(a.Elements)-1]
		before := space(last.BeforeExtra)
		group, err := indented(place.Group, before, space(last.AfterExtra))
		if err != nil {
			return err
		}
		e := hujson.Value{BeforeExtra: hujson.Extra(before), Value: group.Value}
		if len(a.AfterExtra) == 0 && space(last.AfterExtra) == string(last.AfterExtra) {
			e.AfterExtra, last.AfterExtra = last.AfterExtra, nil
		}
		a.Elements = append(a.Elements, e)
		return nil
	})
}

func removeFrom(d *configfile.Document, place settings.HookPlace, list []any, i int) error {
	if len(list) == 1 {
		_, err := d.Unset(place.Path)
		return err
	}
	return splice(d, place, func(a *hujson.Array) error {
		if i == len(a.Elements)-1 {
			a.Elements[i-1].AfterExtra = append(a.Elements[i-1].AfterExtra, a.Elements[i].AfterExtra...)
		}
		a.Elements = slices.Delete(a.Elements, i, i+1)
		return nil
	})
}

// splice changes a list in a JSON document.
func splice(d *configfile.Document, place settings.HookPlace, change func(*hujson.Array) error) error {
	text := d.Bytes()
	const mark = "\ufeff"
	bom := bytes.HasPrefix(text, []byte(mark))
	root, err := hujson.Parse(bytes.TrimPrefix(text, []byte(mark)))
	if err != nil {
		return fmt.Errorf("%s: %w", place.File, err)
	}
	var pointer strings.Builder
	for _, p := range place.Path {
		pointer.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(p))
	}
	v := root.Find(pointer.String())
	if v == nil {
		return fmt.Errorf("%s: %s does not exist", place.File, strings.Join(place.Path, "."))
	}
	a, ok := v.Value.(*hujson.Array)
	if !ok {
		return fmt.Errorf("%s: %s is not a list", place.File, strings.Join(place.Path, "."))
	}
	if err := change(a); err != nil {
		return err
	}
	packed := root.Pack()
	if bom {
		packed = append([]byte(mark), packed...)
	}
	next, err := configfile.Parse(configfile.Format(place.Format), place.File, packed)
	if err != nil {
		return err
	}
	*d = *next
	return nil
}

// space returns the white space between two values, without comments.
func space(e hujson.Extra) string {
	if strings.TrimSpace(string(e)) == "" {
		return string(e)
	}
	if i := strings.LastIndexByte(string(e), '\n'); i >= 0 {
		return "\n" + string(e[i+1:])[:len(e)-i-1-len(strings.TrimLeft(string(e[i+1:]), " \t"))]
	}
	return " "
}

// indented formats a value like its neighbours: on lines of its own if they are, else on one line.
func indented(v any, before, after string) (hujson.Value, error) {
	b, err := marshal(v)
	if err != nil {
		return hujson.Value{}, err
	}
	if i := strings.LastIndexByte(before, '\n'); i >= 0 {
		indent := before[i+1:]
		step := "  "
		if j := strings.LastIndexByte(after, '\n'); j >= 0 && strings.HasPrefix(indent, after[j+1:]) && len(indent) > len(after)-j-1 {
			step = indent[len(after)-j-1:]
		}
		var out bytes.Buffer
		if err := json.Indent(&out, b, indent, step); err != nil {
			return hujson.Value{}, err
		}
		b = out.Bytes()
	}
	return hujson.Parse(b)
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
