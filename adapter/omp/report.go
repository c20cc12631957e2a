package omp

import (
	"cmp"
	_ "embed"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/pifile"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// reporter is the extension that states what the protocol lacks.
//
//go:embed report.js
var reporter []byte

var reportShape jsonscan.Shape[struct {
	_                                    jsonscan.Camel
	Session, Ended, Usage, Failed, Retry jsonscan.Value
}]

// reportOf reads a line of the extension.
func reportOf(line []byte) (r acpagent.Report, ok bool) {
	f, ok := acpagent.Reported(line, &reportShape)
	if !ok {
		return r, false
	}
	spent := pifile.SpentOf(f.Usage)
	r = acpagent.Report{Session: f.Session.Str(), Ended: f.Ended.IsTrue(), Usage: spent.Usage, USD: spent.USD, Message: cmp.Or(f.Failed.Str(), f.Retry.Str())}
	code := cmp.Or(acpagent.CodeOfText(r.Message), execution.CodeProvider)
	switch {
	case f.Failed.Exists():
		r.Failed = code
	case f.Retry.Exists():
		r.Retry = code
	}
	return r, true
}
