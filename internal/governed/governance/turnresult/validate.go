package turnresult

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/shape"
)

// Check decodes, normalizes and validates a staged text; in has all but Raw. A text that cannot be decoded is an error.
func Check(data []byte, in Input) (r Report, changes []protocol.Change, err error) {
	if in.Raw, changes, err = Decode(data); err != nil {
		return r, nil, err
	}
	fixed, more := Normalize(in)
	in.Raw = fixed
	return Validate(in), append(changes, more...), nil
}

// Validate checks a normalized result in the five stages of the protocol and stops after the first stage with a fault.
// A stage reports everything it finds.
func Validate(in Input) Report {
	r := Report{}
	for _, stage := range []struct {
		name protocol.Stage
		run  func(*subject, *faults)
	}{
		{protocol.StageSchema, schemaStage},
		{protocol.StageAssignment, assignmentStage},
		{protocol.StageArtifact, artifactStage},
		{protocol.StageVerification, verificationStage},
		{protocol.StageProtocol, protocolStage},
	} {
		s := newSubject(in)
		f := &faults{stage: stage.name}
		stage.run(s, f)
		r.Warnings = append(r.Warnings, f.warnings...)
		if len(f.list) > 0 {
			r.Failed, r.Faults = stage.name, f.list
			return r
		}
		r.Passed = append(r.Passed, stage.name)
	}
	result, fault := typed(in.Raw)
	if fault != nil {
		return Report{Failed: protocol.StageSchema, Faults: []Fault{*fault}, Warnings: r.Warnings}
	}
	r.Result = result
	return r
}

// subject is a result with the data that its stages depend on. A stage relies on the checks of earlier ones.
type subject struct {
	Input
	authority protocol.Authority
	role      protocol.Role
	roleID    string
	declared  bool
	phase     string
}

func newSubject(in Input) *subject {
	s := &subject{Input: in}
	if s.Config == nil {
		s.Config = &protocol.Config{}
	}
	if s.State == nil {
		s.State = &protocol.State{}
	}
	s.phase = s.State.Phase
	s.roleID = filled(in.Raw.At("role"))
	s.role, s.declared = s.Config.Roles.Get(s.roleID)
	s.authority = s.role.WriteAuthority
	return s
}

func (s *subject) get(key string) json.RawMessage { return s.Raw.At(key) }

func (s *subject) completed() bool {
	return filled(s.get("status")) == string(protocol.ResultCompleted)
}

func (s *subject) completion() bool { return isTrue(s.get("run_completion_request")) }

// request is the requested phase.
func (s *subject) request() string {
	asked, _ := text(s.get("phase_transition_request"))
	if strings.TrimSpace(asked) == "" {
		return ""
	}
	return asked
}

func (s *subject) files() []string { return texts(s.get("files_changed")) }

func (s *subject) verification() object {
	v, _ := members(s.get("verification"))
	return v
}

// produced are the files that verification made and the turn delivers.
func (s *subject) produced() []string {
	v := s.verification()
	list, _ := items(v.At("produced_files"))
	var out []string
	for _, raw := range list {
		f, _ := members(raw)
		if d := f.At("disposition"); !protocol.Is(d) || filled(d) == "artifact" {
			if name := filled(f.At("path")); name != "" {
				out = append(out, name)
			}
		}
	}
	return out
}

// texts are the strings of an array.
func texts(raw json.RawMessage) []string {
	list, _ := items(raw)
	var out []string
	for _, e := range list {
		if s, ok := text(e); ok {
			out = append(out, s)
		}
	}
	return out
}

// typed decodes the result. Whole numbers may be spelled as 1.0: the check has respelled them.
func typed(raw protocol.RawResult) (*protocol.TurnResult, *Fault) {
	root, data, r := shape.Parse(encode(raw)), bytes.Buffer{}, protocol.TurnResult{}
	table().Check(root, "")
	root.Render(&data)
	err := json.Unmarshal(data.Bytes(), &r)
	if err == nil {
		return &r, nil
	}
	f := Fault{Stage: protocol.StageSchema, Type: "invalid_type", Message: err.Error()}
	var e *json.UnmarshalTypeError
	if errors.As(err, &e) {
		f.Field, f.Message = e.Field, "is a "+e.Value+", which is out of range"
	}
	return nil, &f
}
