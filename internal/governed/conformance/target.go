package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The protocols between runner and implementation.
const (
	StdioProtocol = "stdio-fixture-v1"
	HTTPProtocol  = "http-fixture-v1"
)

// File names and paths of targets.
const (
	CapabilitiesFile = ".agentxchain-conformance/capabilities.json"
	CapabilitiesPath = "/conform/capabilities"
	ExecutePath      = "/conform/execute"
)

// maxAnswer bounds an answer in bytes.
const maxAnswer = 16 << 20

// Target is an implementation under test. Values are safe for concurrent use.
type Target interface {
	// Capabilities returns what the implementation claims.
	Capabilities(ctx context.Context) (Capabilities, error)
	// Execute runs one fixture. The error is about the communication; it becomes the status error.
	Execute(ctx context.Context, f Fixture) (Answer, error)
	// Concurrency is how many fixtures it can run at once.
	Concurrency() int
}

// Capabilities are what an implementation claims.
type Capabilities struct {
	Implementation  string          `json:"implementation"`
	Version         string          `json:"version,omitempty"`
	ProtocolVersion string          `json:"protocol_version,omitempty"`
	Adapter         AdapterSpec     `json:"adapter"`
	Tiers           []int           `json:"tiers"`
	Surfaces        map[string]bool `json:"surfaces,omitempty"`
	Metadata        json.RawMessage `json:"metadata,omitempty"`
}

// AdapterSpec is how to reach an implementation.
type AdapterSpec struct {
	Protocol string   `json:"protocol"`
	Command  []string `json:"command,omitempty"` // stdio: program and arguments
}

// ParseCapabilities parses the claims of an implementation that is reached over the given protocol; the error names
// every fault.
func ParseCapabilities(data []byte, protocol string) (Capabilities, error) {
	var c Capabilities
	if err := json.Unmarshal(data, &c); err != nil {
		return Capabilities{}, err
	}
	var faults []error
	if strings.TrimSpace(c.Implementation) == "" {
		faults = append(faults, errors.New("implementation is missing or empty"))
	}
	if len(c.Tiers) == 0 {
		faults = append(faults, errors.New("tiers is missing or empty"))
	}
	for _, t := range c.Tiers {
		if t < 1 || t > Tiers {
			faults = append(faults, fmt.Errorf("tiers names %d, not 1 to %d", t, Tiers))
		}
	}
	if c.Adapter.Protocol != protocol {
		faults = append(faults, fmt.Errorf("adapter.protocol is %q, not %q", c.Adapter.Protocol, protocol))
	}
	if protocol == StdioProtocol && (len(c.Adapter.Command) == 0 || c.Adapter.Command[0] == "") {
		faults = append(faults, errors.New("adapter.command is missing or empty"))
	}
	return c, errors.Join(faults...)
}

// claims reports whether the surface is claimed: all are if none is named.
func (c Capabilities) claims(surface string) bool { return len(c.Surfaces) == 0 || c.Surfaces[surface] }

// disclaims reports whether the implementation explicitly does not have the surface. One that it does not mention is
// tried.
func (c Capabilities) disclaims(surface string) bool {
	v, named := c.Surfaces[surface]
	return named && !v
}

func (c Capabilities) claimsTier(tier int) bool { return slices.Contains(c.Tiers, tier) }

// Local is an implementation in this process.
type Local struct {
	Claims Capabilities
	Run    func(ctx context.Context, f Fixture) Answer
	Jobs   int // zero is one
}

// Capabilities are the claims.
func (l Local) Capabilities(context.Context) (Capabilities, error) { return l.Claims, nil }

// Concurrency is Jobs, at least one.
func (l Local) Concurrency() int { return max(1, l.Jobs) }

// Execute runs the fixture. A panic becomes an error, like the crash of a process.
func (l Local) Execute(ctx context.Context, f Fixture) (a Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the implementation panicked: %v", p)
		}
	}()
	return l.Run(ctx, f), nil
}
