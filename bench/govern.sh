#!/usr/bin/env bash
# Prints what a governed turn and `drawbar govern status` cost as the record grows. TURNS may be set. Run it on a quiet machine.
set -euo pipefail
cd "$(dirname "$0")/.."
CGO_ENABLED=0 go test ./bench -run '^TestGovernedCurve$' -v -count 1 -timeout 1h -curve "${TURNS:-500}"
