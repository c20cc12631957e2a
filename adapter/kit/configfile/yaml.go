package configfile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// yamlSyntax is YAML: one document with a mapping at the top. Block mappings are edited line by line; a flow mapping
// ({...}) is rewritten as a whole, in its order, when it changes.
type yamlSyntax struct{}

func (yamlSyntax) decode(text []byte) (map[string]any, *SyntaxError) {
	if at := tooDeep(text); at >= 0 {
		return nil, faultAt(text, at, fmt.Sprintf("is nested more than %d levels deep", maxDepth))
	}
	file, err := parser.ParseBytes(text, parser.ParseComments)
	if err != nil {
		return nil, yamlFault(err)
	}
	if len(file.Docs) > 1 {
		fault := &SyntaxError{Message: "has more than one YAML document"}
		if start := file.Docs[1].Start; start != nil {
			fault.Line, fault.Column = start.Position.Line, start.Position.Column
		}
		return nil, fault
	}
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil, yamlFault(err)
	}
	if v == nil {
		return map[string]any{}, nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, &SyntaxError{Line: 1, Column: 1, Message: "the top level is " + describe(decoded(v)) + ", not an object"}
	}
	return decoded(m).(map[string]any), nil
}

func yamlFault(err error) *SyntaxError {
	var e yaml.Error
	if errors.As(err, &e) && e.GetToken() != nil {
		p := e.GetToken().Position
		return &SyntaxError{Line: p.Line, Column: p.Column, Message: e.GetMessage()}
	}
	message, _, _ := strings.Cut(err.Error(), "\n")
	return &SyntaxError{Message: message}
}

// yamlText is a text with the offsets of its lines.
type yamlText struct {
	text  []byte
	lines []int // offset of each line; one more for the end
	root  ast.Node
	eol   string
}

func scanYAML(text []byte) (*yamlText, error) {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, err
	}
	y := &yamlText{text: text, lines: []int{0}, eol: lineEnd(text)}
	for i, c := range text {
		if c == '\n' {
			y.lines = append(y.lines, i+1)
		}
	}
	if y.lines[len(y.lines)-1] != len(text) {
		y.lines = append(y.lines, len(text))
	}
	if len(file.Docs) > 0 {
		y.root = file.Docs[0].Body
	}
	return y, nil
}

// mapping returns the entries of a block or flow mapping.
func mapping(n ast.Node) (entries []*ast.MappingValueNode, flow, ok bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, n.IsFlowStyle, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, n.IsFlowStyle, true
	}
	return nil, false, false
}

// yamlBlock is a block mapping: its entries and the line after the last one.
type yamlBlock struct {
	entries []*ast.MappingValueNode
	end     int
}

func (b yamlBlock) find(key string) int {
	return slices.IndexFunc(b.entries, func(e *ast.MappingValueNode) bool { return e.Key.GetToken().Value == key })
}

func keyLine(e *ast.MappingValueNode) int { return e.Key.GetToken().Position.Line - 1 }

// span returns the lines of entry i, without the blank lines and comments after it.
func (y *yamlText) span(b yamlBlock, i int) (from, to int) {
	from, to = keyLine(b.entries[i]), b.end
	if i+1 < len(b.entries) {
		to = keyLine(b.entries[i+1])
	}
	indent := len(indentAt(y.text, y.lines[from]))
	for to > from+1 {
		line := string(y.text[y.lines[to-1]:y.lines[to]])
		rest := strings.TrimLeft(line, " ")
		if strings.TrimSpace(rest) != "" && !(strings.HasPrefix(rest, "#") && len(line)-len(rest) <= indent) && !strings.HasPrefix(line, "...") {
			break
		}
		to--
	}
	return from, to
}

// colon returns the offset after the colon of an entry.
func (y *yamlText) colon(e *ast.MappingValueNode) int {
	p := e.Start.Position
	at := y.lines[p.Line-1]
	for column := 1; column < p.Column && at < len(y.text); column++ {
		at++
		for at < len(y.text) && y.text[at]&0xc0 == 0x80 {
			at++
		}
	}
	return at + 1
}

func (s yamlSyntax) set(text []byte, path Path, v any) ([]byte, error) {
	y, err := scanYAML(text)
	if err != nil {
		return nil, err
	}
	style := yamlStyle{eol: y.eol}
	entries, flow, ok := mapping(y.root)
	if flow {
		return s.rewrite(text, nil, y.root, path, v)
	}
	block := yamlBlock{entries, len(y.lines) - 1}
	if !ok {
		return y.appendLines(len(y.lines)-1, style.entry("", path[0], nest(path[1:], v))), nil
	}
	for depth := range path {
		i := block.find(path[depth])
		if i < 0 {
			_, to := y.span(block, len(block.entries)-1)
			indent := indentAt(text, y.lines[keyLine(block.entries[0])])
			return y.appendLines(to, style.entry(indent, path[depth], nest(path[depth+1:], v))), nil
		}
		e := block.entries[i]
		_, to := y.span(block, i)
		rest := path[depth+1:]
		sub, flow, ok := mapping(e.Value)
		switch {
		case len(rest) == 0 || !ok:
			return y.replace(style, e, to, nest(rest, v)), nil
		case flow:
			return s.rewrite(text, path[:depth+1], e.Value, rest, v)
		}
		block = yamlBlock{sub, to}
	}
	return nil, errors.New("cannot be set here")
}

func (s yamlSyntax) unset(text []byte, path Path) ([]byte, error) {
	y, err := scanYAML(text)
	if err != nil {
		return nil, err
	}
	entries, flow, _ := mapping(y.root)
	if flow {
		return s.rewrite(text, nil, y.root, path, nil)
	}
	block := yamlBlock{entries, len(y.lines) - 1}
	var parent *ast.MappingValueNode
	for depth := range path {
		i := block.find(path[depth])
		if i < 0 {
			return text, nil
		}
		from, to := y.span(block, i)
		if depth == len(path)-1 {
			if len(block.entries) == 1 && parent != nil {
				return y.replace(yamlStyle{eol: y.eol}, parent, to, Pairs{}), nil
			}
			return splice(text, y.lines[from], y.lines[to], ""), nil
		}
		parent = block.entries[i]
		sub, flow, ok := mapping(parent.Value)
		if !ok {
			return text, nil
		}
		if flow {
			return s.rewrite(text, path[:depth+1], parent.Value, path[depth+1:], nil)
		}
		block = yamlBlock{sub, to}
	}
	return text, nil
}

// appendLines inserts lines at the start of a line, or at the end of the text.
func (y *yamlText) appendLines(line int, lines string) []byte {
	at := y.lines[min(line, len(y.lines)-1)]
	if at > 0 && y.text[at-1] != '\n' {
		lines = y.eol + strings.TrimSuffix(lines, y.eol)
	}
	return splice(y.text, at, at, lines)
}

// replace writes a value after a key; to is the line after the old value. A comment on the line of a scalar stays.
func (y *yamlText) replace(style yamlStyle, e *ast.MappingValueNode, to int, v any) []byte {
	from := y.colon(e)
	end := y.lines[to]
	for end > from && (y.text[end-1] == '\n' || y.text[end-1] == '\r') {
		end--
	}
	comment := ""
	line := y.text[from:min(end, lineEndAt(y.text, from))]
	if to == keyLine(e)+1 || strings.HasPrefix(strings.TrimSpace(string(line)), "#") {
		comment = trailingComment(strings.TrimRight(string(line), "\r"))
	}
	indent := indentAt(y.text, y.lines[keyLine(e)])
	value := style.value(indent, v)
	if strings.HasPrefix(value, style.eol) {
		return splice(y.text, from, end, comment+value)
	}
	return splice(y.text, from, end, value+comment)
}

// trailingComment returns the comment after a one-line value, with the space before it.
func trailingComment(s string) string {
	rest := strings.TrimLeft(s, " \t")
	i := len(s) - len(rest)
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		quote := rest[0]
		for i++; i < len(s) && s[i] != quote; i++ {
			if quote == '"' && s[i] == '\\' {
				i++
			}
		}
	} else if strings.HasPrefix(rest, "#") && i > 0 {
		return s
	}
	if i < len(s) {
		if n := strings.Index(s[i:], " #"); n >= 0 {
			for i += n; i > 0 && s[i-1] == ' '; i-- {
			}
			return s[i:]
		}
	}
	return ""
}

// rewrite rewrites a flow mapping with a value at path, or without it if v is nil.
func (s yamlSyntax) rewrite(text []byte, at Path, node ast.Node, path Path, v any) ([]byte, error) {
	value, err := flowValue(node)
	if err != nil {
		return nil, err
	}
	value = assignPairs(value, path, v)
	flow := yamlStyle{}.flow(value)
	if len(at) == 0 {
		from := 0
		for from < len(text) && text[from] != '{' {
			if text[from] == '#' {
				from = lineEndAt(text, from)
			} else {
				from++
			}
		}
		return splice(text, from, max(from, bytes.LastIndexByte(text, '}')+1), flow), nil
	}
	y, err := scanYAML(text)
	if err != nil {
		return nil, err
	}
	entries, _, _ := mapping(y.root)
	block := yamlBlock{entries, len(y.lines) - 1}
	for depth, key := range at {
		i := block.find(key)
		_, to := y.span(block, i)
		if depth == len(at)-1 {
			return y.replace(yamlStyle{eol: y.eol}, block.entries[i], to, raw(flow)), nil
		}
		sub, _, _ := mapping(block.entries[i].Value)
		block = yamlBlock{sub, to}
	}
	return text, nil
}

// flowValue returns a flow mapping with its order.
func flowValue(n ast.Node) (any, error) {
	if entries, _, ok := mapping(n); ok {
		pairs := Pairs{}
		for _, e := range entries {
			v, err := flowValue(e.Value)
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, Pair{e.Key.GetToken().Value, v})
		}
		return pairs, nil
	}
	var v any
	if err := yaml.NodeToValue(n, &v); err != nil {
		return nil, err
	}
	return normalize(decoded(v))
}

// assignPairs sets what is at path, or removes it if the value is nil.
func assignPairs(v any, path Path, value any) any {
	if len(path) == 0 {
		return value
	}
	pairs, _ := asPairs(v)
	i := slices.IndexFunc(pairs, func(p Pair) bool { return p.Key == path[0] })
	switch {
	case i < 0:
		return append(slices.Clip(pairs), Pair{path[0], nest(path[1:], value)})
	case len(path) == 1 && value == nil:
		return slices.Delete(slices.Clone(pairs), i, i+1)
	}
	pairs = slices.Clone(pairs)
	pairs[i].Value = assignPairs(pairs[i].Value, path[1:], value)
	return pairs
}
