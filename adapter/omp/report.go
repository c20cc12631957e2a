package omp

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"

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
	_                                           jsonscan.Camel
	Session, Ended, Usage, Failed, Retry, Limit jsonscan.Value
}]

// extension returns the extension for a turn limit, 0 for none.
func extension(limit int) []byte {
	return bytes.Replace(reporter, []byte("const limit = 0;"), fmt.Appendf(nil, "const limit = %d;", limit), 1)
}

// reportOf reads a line of the extension.
func reportOf(line []byte) (r acpagent.Report, ok bool) {
	f, ok := acpagent.Reported(line, &reportShape)
	if !ok {
		return r, false
	}
	spent := pifile.SpentOf(f.Usage)
	r = acpagent.Report{Session: f.Session.Str(), Ended: f.Ended.IsTrue(), Limit: f.Limit.IsTrue(), Usage: spent.Usage, USD: spent.USD,
		Message: cmp.Or(f.Failed.Str(), f.Retry.Str())}
	code := cmp.Or(acpagent.CodeOfText(r.Message), execution.CodeProvider)
	switch {
	case f.Failed.Exists():
		r.Failed = code
	case f.Retry.Exists():
		r.Retry = code
	}
	return r, true
}
