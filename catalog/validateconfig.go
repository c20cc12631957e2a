package catalog

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

var configFormats = []string{"json", "jsonc", "json5", "toml", "yaml"}

func (f *faults) config(d adapter.Descriptor) {
	c := d.Config
	if c.Agent != d.Name || c.Agent == "" {
		f.add("configSchema.agent", "is not the agent's name", strconv.Quote(clip(c.Agent)), strconv.Quote(clip(d.Name)))
	}
	if hasFiles := len(c.ConfigFiles)+len(c.ProjectConfigFiles) > 0; (hasFiles || c.Format != "") && !slices.Contains(configFormats, c.Format) {
		f.add("configSchema.configFormat", "is not one of the allowed values", strconv.Quote(clip(c.Format)), strings.Join(configFormats, ", "))
	}
	seen := map[string]bool{}
	for i, field := range c.Fields {
		at := fmt.Sprintf("configSchema.fields[%d]", i)
		if field.Path == "" {
			f.add(at+".path", "is required", `""`, "the name of a setting")
		} else if seen[field.Path] {
			f.add(at+".path", "is used twice", strconv.Quote(clip(field.Path)), "each setting once")
		}
		seen[field.Path] = true
		f.configField(at, c, field)
	}
	for i, file := range c.ConfigFiles {
		f.globalPath(fmt.Sprintf("configSchema.configFilePaths[%d]", i), file)
	}
	for i, file := range c.ProjectConfigFiles {
		f.projectPath(fmt.Sprintf("configSchema.projectConfigFilePaths[%d]", i), file)
	}
	for i, file := range c.Files {
		f.configFile(fmt.Sprintf("configSchema.files[%d]", i), file)
	}
	if c.MCP == nil {
		return
	}
	for i, k := range c.MCP.Kinds {
		at := fmt.Sprintf("configSchema.mcp.kinds[%d]", i)
		if (k.Transport == execution.MCPStdio) != (k.URL == "") {
			f.add(at+".url", "does not fit the transport", strconv.Quote(k.URL), "the key of the address; none for stdio")
		}
	}
}

func (f *faults) configField(at string, c settings.Schema, field settings.Field) {
	if !slices.Contains(settings.Types, field.Type) {
		f.add(at+".type", "is not a type of setting", strconv.Quote(clip(field.Type)), strings.Join(settings.Types, ", "))
	}
	if field.Type == settings.TypeEnum && len(field.Enum) == 0 {
		f.add(at+".enumValues", "is required", "[]", "the values that the setting accepts")
	}
	if field.Pattern == "" {
		// not compiled at the start of every program
	} else if _, err := regexp.Compile(field.Pattern); err != nil {
		f.add(at+".pattern", "is not a valid pattern", strconv.Quote(clip(field.Pattern)), "a regular expression")
	}
	if len(c.Files) == 0 {
		return // a schema that only names its files is for reading
	}
	if !slices.Contains([]settings.Scope{settings.Global, settings.Project, settings.Both}, field.Scope) {
		f.add(at+".scope", "is not one of the allowed values", strconv.Quote(string(field.Scope)), "global, project, both")
	}
	if field.Native == "" {
		f.add(at+".nativeKeyPath", "is required", `""`, "the agent's own key")
	}
	id := field.File
	if id == "" {
		id = settings.MainFile
	}
	if !slices.ContainsFunc(c.Files, func(file settings.File) bool { return file.ID == id }) {
		f.add(at+".file", "is not the ID of a file", strconv.Quote(clip(field.File)), "the ID of one of files")
	}
}

func (f *faults) configFile(at string, file settings.File) {
	if !slices.Contains(settings.Scopes, file.Scope) {
		f.add(at+".scope", "is not one of the allowed values", strconv.Quote(string(file.Scope)), "global, project, local")
	}
	if !slices.Contains(configFormats, file.Format) {
		f.add(at+".format", "is not one of the allowed values", strconv.Quote(clip(file.Format)), strings.Join(configFormats, ", "))
	}
	if strings.HasPrefix(file.Path, "~") || path.IsAbs(file.Path) || file.Scope == settings.Global {
		f.globalPath(at+".path", file.Path)
	} else {
		f.projectPath(at+".path", file.Path)
	}
	if variable, rest, ok := strings.Cut(strings.TrimPrefix(file.Moved, "$"), "/"); file.Moved != "" && (!ok || !strings.HasPrefix(file.Moved, "$") || !isVariable(variable) || path.Clean("/"+rest) != "/"+rest) {
		f.add(at+".movedTo", "is not a path below a variable", strconv.Quote(clip(file.Moved)), "$VARIABLE/file")
	}
}

func (f *faults) globalPath(at, file string) {
	if !strings.HasPrefix(file, "~/") && !path.IsAbs(file) {
		f.add(at, "is relative", strconv.Quote(clip(file)), "a path from ~/ or /")
	}
}

func (f *faults) projectPath(at, file string) {
	clean := path.Clean(file)
	if file == "" || path.IsAbs(file) || strings.HasPrefix(file, "~") || clean == ".." || strings.HasPrefix(clean, "../") {
		f.add(at, "is not inside the project", strconv.Quote(clip(file)), "a path relative to the project")
	}
}
