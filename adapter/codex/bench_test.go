package codex

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/transport/process"
)

// BenchmarkParse parses a long conversation with codex app-server: 200,000 lines.
func BenchmarkParse(b *testing.B) {
	stream := appStream(200_000)
	var lines [][]byte
	for rest := stream; len(rest) > 0; {
		line, after, _ := bytes.Cut(rest, []byte{'\n'})
		lines, rest = append(lines, line), after
	}
	var events int
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		events = 0
		p, s := newAppParser(newRequest(), ""), cliagent.NewSink(false)
		p.Open(s)
		for _, line := range lines {
			p.Line(process.Stdout, line, s)
			events += len(s.Take())
		}
		if res := p.Exit(process.Exit{}, s); res.Status == "" {
			b.Fatal("the stream has no result")
		}
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(len(lines))*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(b.N)/float64(events), "allocs/event")
	b.ReportMetric(float64(len(stream))/float64(len(lines)), "B/line")
}
