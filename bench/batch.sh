#!/usr/bin/env bash
# Runs a batch of ITEMS programs and kills drawbar KILLS times meanwhile: every item must have one result. Prints the time of an item.
set -euo pipefail
cd "$(dirname "$0")/.."
items=${ITEMS:-10000} kills=${KILLS:-5} jobs=${JOBS:-auto}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
CGO_ENABLED=0 go build -o "$dir/drawbar" ./cmd/drawbar
export HOME="$dir" XDG_STATE_HOME="$dir/state" XDG_CONFIG_HOME="$dir/config"
cd "$dir"
for i in $(seq "$items"); do echo "{\"prompt\":\"$i\",\"command\":[\"cat\"]}"; done > items.jsonl
begun=$(date +%s%N)
batch=(./drawbar batch items.jsonl command --jobs "$jobs" --results results.jsonl)
: > results.jsonl
for k in $(seq "$kills"); do
  "${batch[@]}" > /dev/null 2>> log &
  pid=$!
  until [ "$(wc -l < results.jsonl)" -ge $((items * k / (kills + 1))) ]; do sleep 0.05; done
  kill -KILL "$pid"
  wait "$pid" 2> /dev/null || true
done
"${batch[@]}" > /dev/null 2>> log
ended=$(date +%s%N)
ids=$(sed 's/^{"id":"\([^"]*\)".*"status":"completed","text":"\1".*/\1/' results.jsonl | sort -n | uniq)
[ "$ids" = "$(seq "$items")" ] || { echo "results are missing"; exit 1; }
[ "$(wc -l < results.jsonl)" = "$items" ] || { echo "$(wc -l < results.jsonl) results of $items items"; exit 1; }
echo "$items items, $kills kills: each has one result; $(((ended - begun) / items / 1000)) us an item"
