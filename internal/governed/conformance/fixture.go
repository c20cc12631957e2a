package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/drawbar/drawbar/govern/protocol"
)

// maxFixture bounds a fixture in bytes.
const maxFixture = 4 << 20

// Tiers is the number of tiers of the suite.
const Tiers = 3

// Fixture is one test case: a setup, an operation, and the expected outcome.
type Fixture struct {
	ID          string          `json:"fixture_id"`
	Tier        int             `json:"tier"`
	Surface     string          `json:"surface"`
	Description string          `json:"description"`
	Type        string          `json:"type"`
	Setup       json.RawMessage `json:"setup"`
	Input       FixtureInput    `json:"input"`
	Expected    json.RawMessage `json:"expected"`
	// Raw is the fixture as one line of JSON, as sent to an implementation.
	Raw json.RawMessage `json:"-"`
	// Path is where the fixture was read from.
	Path string `json:"-"`
}

// FixtureInput is the operation for the implementation.
type FixtureInput struct {
	Operation string          `json:"operation"`
	Args      json.RawMessage `json:"args"`
}

// ParseFixture parses a fixture; the error names every fault.
func ParseFixture(data []byte) (Fixture, error) {
	if len(data) > maxFixture {
		return Fixture{}, fmt.Errorf("the fixture has %d bytes, more than %d", len(data), maxFixture)
	}
	var keys protocol.Ordered[json.RawMessage]
	if kind := protocol.Kind(data); kind != "object" {
		return Fixture{}, fmt.Errorf("a fixture must be an object, not %s", kind)
	}
	if err := json.Unmarshal(data, &keys); err != nil {
		return Fixture{}, err
	}
	var faults []error
	for _, k := range []string{"fixture_id", "tier", "surface", "description", "type", "setup", "input", "expected"} {
		if !keys.Has(k) {
			faults = append(faults, fmt.Errorf("%s is missing", k))
		}
	}
	var f Fixture
	if err := json.Unmarshal(data, &f); err != nil {
		return Fixture{}, errors.Join(append(faults, err)...)
	}
	if keys.Has("fixture_id") && strings.TrimSpace(f.ID) == "" {
		faults = append(faults, errors.New("fixture_id is empty"))
	}
	if keys.Has("tier") && (f.Tier < 1 || f.Tier > Tiers) {
		faults = append(faults, fmt.Errorf("tier is %d, not 1 to %d", f.Tier, Tiers))
	}
	if keys.Has("surface") && strings.TrimSpace(f.Surface) == "" {
		faults = append(faults, errors.New("surface is empty"))
	}
	for _, k := range []string{"setup", "input", "expected"} {
		if keys.Has(k) && protocol.Kind(keys.At(k)) != "object" {
			faults = append(faults, fmt.Errorf("%s is %s, not an object", k, protocol.Kind(keys.At(k))))
		}
	}
	if protocol.Kind(keys.At("input")) == "object" && strings.TrimSpace(f.Input.Operation) == "" {
		faults = append(faults, errors.New("input.operation is missing or empty"))
	}
	if len(faults) > 0 {
		return Fixture{}, errors.Join(faults...)
	}
	var line bytes.Buffer
	if err := json.Compact(&line, data); err != nil {
		return Fixture{}, err
	}
	f.Raw = line.Bytes()
	return f, nil
}

// Load reads every fixture below the root of a file system, in the order of their paths. Files that are not JSON, and
// capabilities.json, are skipped; the error names the faults of all others.
func Load(files fs.FS) ([]Fixture, error) {
	var list []Fixture
	var faults []error
	seen := map[string]string{}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.Type().IsRegular() || path.Ext(name) != ".json" || path.Base(name) == "capabilities.json" {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Size() > maxFixture {
			faults = append(faults, fmt.Errorf("%s: the fixture has %d bytes, more than %d", name, info.Size(), maxFixture))
			return nil
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		f, err := ParseFixture(data)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", name, err))
			return nil
		}
		if other, ok := seen[f.ID]; ok {
			faults = append(faults, fmt.Errorf("%s: %s is already the id of %s", name, f.ID, other))
		}
		seen[f.ID] = name
		f.Path = name
		list = append(list, f)
		return nil
	})
	if err != nil {
		faults = append(faults, err)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	slices.SortFunc(list, func(a, b Fixture) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}
