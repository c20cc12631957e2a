package intake

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/repofile"
	"github.com/drawbar/drawbar/internal/cli"
	"github.com/drawbar/drawbar/internal/governed/project"
	"github.com/spf13/cobra"
)

// inputLimit bounds the size of a payload or a snapshot.
const inputLimit = 4 << 20

// sources are the sources of events. Those of a scan involve no person.
func sources(scanned bool) []string {
	if scanned {
		return []string{"ci_failure", "git_ref_change", "schedule"}
	}
	return append([]string{"manual", "vision_scan"}, sources(true)...)
}

// signal is an event as submitted.
type signal struct {
	Source   string                 `json:"source"`
	Category string                 `json:"category"`
	Repo     *string                `json:"repo"`
	Ref      *string                `json:"ref"`
	Signal   json.RawMessage        `json:"signal"`
	Evidence []protocol.SignalProof `json:"evidence"`
}

// fault describes what is wrong with a signal; empty if nothing is.
func (s signal) fault() string {
	var of map[string]json.RawMessage
	switch {
	case !slices.Contains(sources(false), s.Source):
		return "source must be one of " + strings.Join(sources(false), ", ")
	case json.Unmarshal(s.Signal, &of) != nil || len(of) == 0:
		return "signal must be a non-empty object"
	case len(s.Evidence) == 0:
		return "evidence must be a non-empty list"
	}
	for _, e := range s.Evidence {
		if !slices.Contains([]string{"url", "file", "text"}, e.Type) {
			return "the type of evidence must be url, file or text, not " + e.Type
		}
		if strings.TrimSpace(e.Value) == "" {
			return "evidence must have a value"
		}
	}
	return ""
}

func (s signal) event() protocol.IntakeEvent {
	return protocol.IntakeEvent{Source: s.Source, Category: cmp.Or(s.Category, s.Source+"_signal"), Repo: s.Repo, Ref: s.Ref, Signal: s.Signal, Evidence: s.Evidence}
}

// input reads a JSON document from a file or from standard input.
func input(app *cli.App, file string, stdin bool, v any) error {
	var b []byte
	var err error
	where := file
	if stdin {
		where = "standard input"
		b, err = io.ReadAll(io.LimitReader(app.In, inputLimit))
	} else {
		b, err = repofile.Input(file, inputLimit)
	}
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		return execution.Errorf(execution.CodeValidation, "read %s: %v", where, err).WithHint("it must be a JSON object of at most %d MiB", inputLimit>>20)
	}
	return nil
}

func record(app *cli.App) *cobra.Command {
	var s signal
	var file, text string
	var evidence []string
	var stdin bool
	cmd := &cobra.Command{
		Use: "record", Short: "Record an event, which creates an intent",
		Example: `  drawbar govern intake record --source ci_failure --signal '{"job":"test"}' \
    --evidence '{"type":"url","value":"https://ci.example/1"}'`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch given := []bool{file != "", stdin, s.Source != ""}; {
			case len(slices.DeleteFunc(given, func(b bool) bool { return !b })) != 1:
				return cli.Usage("give one of --file, --stdin and --source").WithHint("%s --help", cmd.CommandPath())
			case s.Source == "":
				if err := input(app, file, stdin, &s); err != nil {
					return err
				}
			default:
				s.Signal = json.RawMessage(text)
				for _, e := range evidence {
					var p protocol.SignalProof
					if err := json.Unmarshal([]byte(e), &p); err != nil {
						return cli.Usage("--evidence is not JSON: %v", err).WithHint(`--evidence '{"type":"text","value":"..."}'`)
					}
					s.Evidence = append(s.Evidence, p)
				}
			}
			if f := s.fault(); f != "" {
				return execution.Errorf(execution.CodeValidation, "the event is not valid: %s", f).WithHint("%s --help", cmd.CommandPath())
			}
			d, err := open(app, "")
			if err != nil {
				return err
			}
			e, i, known, err := project.Signal(d.root, s.event(), d.now)
			if err != nil {
				return err
			}
			return app.Answer(map[string]any{"event": e, "intent": i, "deduplicated": known}, func() {
				if known {
					app.Printf("event %s is already recorded; its intent %s is %s\n", e.EventID, i.IntentID, i.Status)
				} else {
					app.Printf("event %s is recorded; intent %s is %s\n", e.EventID, i.IntentID, i.Status)
				}
				app.Printf("  next  %s\n", next(i))
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&file, "file", "", "read the event from this JSON file")
	f.BoolVar(&stdin, "stdin", false, "read the event from standard input")
	f.StringVar(&s.Source, "source", "", "source of the event: "+strings.Join(sources(false), ", "))
	f.StringVar(&text, "signal", "", "what happened, as a JSON object")
	f.StringArrayVar(&evidence, "evidence", nil, "evidence, as a JSON object with type and value (repeatable)")
	f.StringVar(&s.Category, "category", "", "category (default: the source's)")
	return cmd
}

// scanned is the outcome for one item of a snapshot.
type scanned struct {
	Status   string `json:"status"` // created, deduplicated or rejected
	Index    int    `json:"index"`
	EventID  string `json:"event_id,omitempty"`
	IntentID string `json:"intent_id,omitempty"`
	Error    string `json:"error,omitempty"`
}

func scan(app *cli.App) *cobra.Command {
	var source, file string
	var stdin bool
	cmd := &cobra.Command{
		Use: "scan", Short: "Record every new event of a snapshot", Args: cli.Args(cobra.NoArgs),
		Example: "  drawbar govern intake scan --source ci_failure --file failures.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(sources(true), source) {
				return cli.Usage("--source %q cannot be scanned", source).WithHint("one of: %s", strings.Join(sources(true), ", "))
			}
			if (file == "") != stdin {
				return cli.Usage("give one of --file and --stdin").WithHint("%s --source %s --file FILE", cmd.CommandPath(), source)
			}
			d, err := open(app, "")
			if err != nil {
				return err
			}
			var snapshot struct {
				Source string            `json:"source"`
				Items  []json.RawMessage `json:"items"`
			}
			if err := input(app, file, stdin, &snapshot); err != nil {
				return err
			}
			if snapshot.Source != source || len(snapshot.Items) == 0 {
				return execution.Errorf(execution.CodeValidation, "the snapshot has the source %q and %d items", snapshot.Source, len(snapshot.Items)).
					WithHint(`it must be {"source":%q,"items":[...]}`, source)
			}
			return d.scan(source, snapshot.Items)
		},
	}
	f := cmd.Flags()
	f.StringVar(&source, "source", "", "source of the snapshot: "+strings.Join(sources(true), ", "))
	f.StringVar(&file, "file", "", "read the snapshot from this JSON file")
	f.BoolVar(&stdin, "stdin", false, "read the snapshot from standard input")
	return cmd
}

func (d *desk) scan(source string, list []json.RawMessage) error {
	var results []scanned
	count := map[string]int{}
	for n, raw := range list {
		r := scanned{Status: "rejected", Index: n}
		var s signal
		if err := json.Unmarshal(raw, &s); err != nil {
			r.Error = err.Error()
		} else if s.Source = source; s.fault() != "" {
			r.Error = s.fault()
		} else {
			e, i, known, err := project.Signal(d.root, s.event(), d.now)
			if err != nil {
				return err
			}
			if r.Status, r.EventID, r.IntentID = "created", e.EventID, i.IntentID; known {
				r.Status = "deduplicated"
			}
		}
		count[r.Status]++
		results = append(results, r)
	}
	if count["rejected"] == len(list) {
		return execution.Errorf(execution.CodeValidation, "no item of the snapshot can be recorded: %s", results[0].Error).WithHint("fix the snapshot; nothing was recorded")
	}
	out := map[string]any{"source": source, "scanned": len(list), "created": count["created"], "deduplicated": count["deduplicated"], "rejected": count["rejected"], "results": results}
	return d.app.Answer(out, func() {
		d.app.Printf("%d recorded, %d already known, %d rejected\n", count["created"], count["deduplicated"], count["rejected"])
		for _, r := range results {
			if r.Error != "" {
				d.app.Printf("  item %d: %s\n", r.Index, r.Error)
			}
		}
	})
}
