package pi

import (
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/declared"
	"github.com/drawbar/drawbar/execution"
)

// modelFlag chooses the model of a run.
const modelFlag = "--model"

// models are listed with the providers that have a login, as a table whose numbers are rounded.
var models = declared.ModelTable{Args: []string{"--list-models"}, Rows: func(said adapter.SpawnOutcome) (list []execution.Model, err error) {
	var columns []string
	for line := range strings.Lines(said.Stdout) {
		cells := strings.Fields(line)
		if columns == nil && len(cells) > 1 && cells[0] == "provider" && cells[1] == "model" {
			columns = cells
			continue
		}
		if columns == nil || len(cells) != len(columns) {
			continue
		}
		cell := map[string]string{}
		for i, c := range columns {
			cell[c] = cells[i]
		}
		m := execution.Model{ID: cell["provider"] + "/" + cell["model"], Provider: cell["provider"],
			ContextWindow: rounded(cell["context"]), MaxOutputTokens: rounded(cell["max-out"])}
		m.Thinking, m.ImageInput = answer(cell["thinking"]), answer(cell["images"])
		list = append(list, m)
	}
	return list, nil
}}

// rounded reads a number such as 131.1K, 0 for none.
func rounded(s string) int64 {
	unit := map[string]float64{"K": 1e3, "M": 1e6}[s[max(0, len(s)-1):]]
	if unit == 0 {
		unit = 1
	} else {
		s = s[:len(s)-1]
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return declared.Tokens(n*unit + 0.5)
}

// answer reads yes or no, nil for another word.
func answer(s string) *bool {
	switch s {
	case "yes":
		return new(true)
	case "no":
		return new(false)
	}
	return nil
}
