package turnresult

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/lazy"
	"github.com/drawbar/drawbar/internal/base/shape"
)

// verificationStage checks that the turn's account of its checks does not contradict its own evidence.
func verificationStage(s *subject, f *faults) {
	v := s.verification()
	pass := filled(v.At("status")) == protocol.VerificationPass
	commands, _ := items(v.At("commands"))
	evidence, _ := items(v.At("machine_evidence"))
	summary := filled(v.At("evidence_summary"))
	f.shapes(s, true)
	for i, raw := range evidence {
		if e, _ := members(raw); pass {
			f.evidence(shape.Item("verification.machine_evidence", i), e, summary)
		}
	}
	if code, ok := number(v.At("exit_code")); ok && code != 0 && pass {
		f.add("failing_command_reported_as_pass", "verification.status", "is pass, but verification.exit_code is "+shown(v.At("exit_code")), "fail, or fixed checks")
	}
	f.produced(s, v)
	if pass && len(commands) == 0 && len(evidence) == 0 && summary == "" {
		f.warnf("verification.status is pass without evidence: there are no commands, no machine_evidence, no evidence_summary")
	}
}

// evidence checks a command of a passing turn: its exit code must be the expected one.
func (f *faults) evidence(field string, e object, summary string) {
	code, whole := integer(e.At("exit_code"))
	expected, stated := integer(e.At("expected_exit_code"))
	if filled(e.At("command")) == "" || !whole || !stated && protocol.Is(e.At("expected_exit_code")) || code == expected {
		return
	}
	command := filled(e.At("command"))
	if !stated && explained(summary, command, code) {
		f.warnf("%s: %s exited with %d, which only evidence_summary explains", field, quoted(command), code)
		return
	}
	want := "the exit code " + strconv.FormatInt(expected, 10) + "; report fail, or fix it; a command that is meant to fail states its expected_exit_code"
	f.add("failing_command_reported_as_pass", field+".exit_code", fmt.Sprintf("the status is pass, but %s exited with %d", quoted(command), code), want)
}

var exitPhrase = lazy.Regexp(`(?i)\b(?:exit(?:s|ed|ing)?|return(?:s|ed|ing)?)\b[^0-9\n-]{0,40}(-?\d+)`)

// maxExplanation bounds how much of a summary is searched for explanations, in bytes.
const maxExplanation = 64 << 10

// explained reports whether the summary says, within 160 characters of a command, that it exits with the code.
func explained(summary, command string, code int64) bool {
	for rest := summary[:min(len(summary), maxExplanation)]; ; {
		i := strings.Index(rest, command)
		if i < 0 {
			return false
		}
		rest = rest[i+len(command):]
		window := rest[:min(160, len(rest))]
		for _, m := range exitPhrase().FindAllStringSubmatch(window, -1) {
			if n, err := strconv.ParseInt(m[1], 10, 64); err == nil && n == code {
				return true
			}
		}
	}
}

// produced checks the files that verification made.
func (f *faults) produced(s *subject, v object) {
	list, _ := items(v.At("produced_files"))
	changed := s.clean(s.files())
	seen := map[string]string{}
	for i, raw := range list {
		field := shape.Item("verification.produced_files", i)
		o, _ := members(raw)
		name, _ := text(o.At("path"))
		clean, fault := LexicalPath(name)
		if fault != nil {
			continue // a fault of the artifact stage, or of its shape
		}
		if earlier, twice := seen[clean]; twice {
			f.list = append(f.list, Fault{Stage: f.stage, Type: "duplicate_produced_file", Field: field + ".path", Path: name,
				Message: quoted(name) + " is already named by " + earlier + " already", Expected: "each file only once"})
		} else {
			seen[clean] = field
		}
		if filled(o.At("disposition")) == "ignore" && slices.Contains(changed, clean) {
			f.list = append(f.list, Fault{Stage: f.stage, Type: "ignored_file_declared", Field: field + ".disposition", Path: name,
				Message: quoted(name) + " is marked ignore, but listed in files_changed", Expected: "artifact, or no entry in files_changed"})
		}
	}
}
