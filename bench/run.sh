#!/usr/bin/env bash
# Prints what Drawbar adds, as ratios, and the parsers' figures. Run it on a quiet machine; nothing here passes or fails.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0
count="${COUNT:-3}"
out=$(mktemp)
trap 'rm -f "$out"' EXIT

go test -run '^$' -bench 'Empty|Version|HookRelay|BareChild|RunChild|RunStream|Children' -benchtime 1s -count "$count" ./bench | tee -a "$out"
go test -run '^$' -bench Parse -cpu 1 -count "$count" ./adapter/claude ./adapter/codex | tee -a "$out"
go test -run '^$' -bench 'LongLine|StartWait' -count "$count" ./transport/process | tee -a "$out"

# the best of each, then the ratios
awk '
/^Benchmark/ { name=$1; sub(/-[0-9]+$/, "", name); if (!(name in best) || $3 < best[name]) best[name]=$3 }
END {
  ms = 1e6
  printf "\n"
  empty=best["BenchmarkEmpty"]
  if (empty) {
    printf "an empty Go program            %8.1f ms\n", empty/ms
    printf "drawbar version                %8.1f ms   %.2f times, %.1f ms more\n", best["BenchmarkVersion"]/ms, best["BenchmarkVersion"]/empty, (best["BenchmarkVersion"]-empty)/ms
    printf "the command of a hook          %8.1f ms   %.2f times, %.1f ms more\n", best["BenchmarkHookRelay"]/ms, best["BenchmarkHookRelay"]/empty, (best["BenchmarkHookRelay"]-empty)/ms
  }
  if (best["BenchmarkBareChild"]) {
    printf "the bare agent                 %8.1f ms\n", best["BenchmarkBareChild"]/ms
    printf "the agent through drawbar run  %8.1f ms   %.2f times, %.1f ms more\n", best["BenchmarkRunChild"]/ms, best["BenchmarkRunChild"]/best["BenchmarkBareChild"], (best["BenchmarkRunChild"]-best["BenchmarkBareChild"])/ms
  }
  if (best["BenchmarkRunStream"]) printf "200,000 lines with their record %7.1f ms\n", best["BenchmarkRunStream"]/ms
}' "$out"
command -v /usr/bin/time >/dev/null && { bin=$(mktemp); go build -trimpath -ldflags='-s -w' -o "$bin" ./cmd/drawbar; /usr/bin/time -f 'memory of drawbar version       %M KiB' "$bin" version >/dev/null; ls -l "$bin" | awk '{printf "size of the program            %8.1f MB\n", $5/1e6}'; rm -f "$bin"; }
