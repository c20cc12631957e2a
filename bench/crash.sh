#!/usr/bin/env bash
# Kills `drawbar govern run` at random moments and looks at the record after each kill. KILLS (2000) and SEED may be set.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/drawbar" ./cmd/drawbar
go build -o "$dir/governcrash" ./bench/governcrash
"$dir/governcrash" -drawbar "$dir/drawbar" -kills "${KILLS:-2000}" ${SEED:+-seed "$SEED"}
