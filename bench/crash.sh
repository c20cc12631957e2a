#!/usr/bin/env bash
# Kills `drawbar govern run` at random moments and looks at the record after each kill. KILLS and SEED may be set.
set -euo pipefail
cd "$(dirname "$0")/.."
CGO_ENABLED=0 go test ./bench -run '^TestKills$' -v -count 1 -timeout 4h -kills "${KILLS:-2000}" -seed "${SEED:-$RANDOM$RANDOM}"
