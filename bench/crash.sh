#!/usr/bin/env bash
# Kills `drawbar govern run`, and the commands of a person, at random moments and looks at the record after each kill. KILLS and SEED may be set.
set -euo pipefail
cd "$(dirname "$0")/.."
CGO_ENABLED=0 go test ./bench -run '^Test(People|Multi)?Kills$' -v -count 1 -timeout 4h -kills "${KILLS:-2000}" -seed "${SEED:-$RANDOM$RANDOM}"
