package modelserver

import _ "embed" // the example

// Example is a script that shows what one can say. schema/model-script.json is the JSON Schema of scripts.
//
//go:embed example.json
var Example string
