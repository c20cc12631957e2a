#!/usr/bin/env bash
# What reading the usage of all session files costs: Drawbar's cold scan, page cache warm, on one core and on all, beside the
# npm tool ccusage 20.0.24 where it is given, on the same generated files; and whether both come to the same sums.
#
#   bench/usage.sh [-n BYTES] [-o MEDIAN_OUTPUT] [-r ROUNDS] [-k DIR] [-c CCUSAGE] [-d DRAWBAR]
#
# CCUSAGE is the program itself: npm install ccusage@20.0.24 @ccusage/ccusage-linux-x64@20.0.24 puts it at
# node_modules/@ccusage/ccusage-linux-x64/bin/ccusage. A figure is the best of the rounds; "per core" divides by the processor
# time that was used, so that a busy machine does not change it much. Needs jq and awk.
set -euo pipefail
cd "$(dirname "$0")/.."
bytes=1e9 output=3500 rounds=5 keep= ccusage= drawbar=
while getopts n:o:r:k:c:d: opt; do
	case $opt in
	n) bytes=$OPTARG ;; o) output=$OPTARG ;; r) rounds=$OPTARG ;; k) keep=$OPTARG ;; c) ccusage=$OPTARG ;; d) drawbar=$OPTARG ;;
	*) sed -n 5p "$0" >&2; exit 2 ;;
	esac
done
dir=${keep:-$(mktemp -d)}
mkdir -p "$dir"
[ -n "$keep" ] || trap 'rm -rf "$dir"' EXIT
[ -n "$drawbar" ] || { drawbar=$dir/drawbar; go build -o "$drawbar" ./cmd/drawbar; }
go build -o "$dir/usagecorpus" ./bench/usagecorpus

# timed LABEL BYTES COMMAND...: the best wall and processor time of the rounds.
timed() {
	label=$1 size=$2
	shift 2
	i=0
	: >"$dir/times"
	while [ $i -lt "$rounds" ]; do
		rm -rf "$dir/state"
		# TIMEFORMAT and time are bash's; sh may have neither.
		TIMEFORMAT='%R %U %S' bash -c 'time "$@" >/dev/null 2>&1' timed "$@" 2>>"$dir/times"
		i=$((i + 1))
	done
	awk -v label="$label" -v size="$size" '
		{ cpu = $2 + $3; if (NR == 1 || $1 < wall) wall = $1; if (NR == 1 || cpu < best) best = cpu }
		END { printf "  %-28s wall %7.3f s %6.2f GB/s   processor %7.3f s %6.2f GB/s per core\n", label, wall, size / wall / 1e9, best, size / best / 1e9
		      print best > "'"$dir"'/last" }' "$dir/times"
}

fail=0
for agent in claude codex; do
	home=$dir/$agent-$bytes-$output
	[ -d "$home/.$agent" ] || "$dir/usagecorpus" -dir "$home" -bytes "$bytes" -agent "$agent" -output "$output" >/dev/null
	size=$(find "$home/.$agent" -name '*.jsonl' -exec stat -c %s {} + | awk '{ n += $1 } END { print n }')
	find "$home/.$agent" -name '*.jsonl' -exec cat {} + >/dev/null # into the page cache
	echo "$agent: $(find "$home/.$agent" -name '*.jsonl' | wc -l) files, $size bytes, tools print $output bytes at the median, load $(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo unknown)"
	own="env -i HOME=$home PATH=/usr/bin:/bin DRAWBAR_STATE_DIR=$dir/state"
	timed "drawbar, one core, cold" "$size" $own GOMAXPROCS=1 "$drawbar" sessions cost --agent $agent --by day --json
	mine=$(cat "$dir/last")
	timed "drawbar, all cores, cold" "$size" $own "$drawbar" sessions cost --agent $agent --by day --json
	$own "$drawbar" sessions cost --agent $agent --by day --timezone UTC --json >"$dir/mine.json"
	bash -c 'TIMEFORMAT="  drawbar, second report       wall %R s"; time "$@" >/dev/null 2>&1' timed $own "$drawbar" sessions cost --agent $agent --by day --timezone UTC --json
	[ -n "$ccusage" ] || continue
	other="env -i HOME=$home CODEX_HOME=$home/.codex PATH=/usr/bin:/bin LOG_LEVEL=0 $ccusage $agent daily --offline --json --timezone UTC"
	timed "ccusage" "$size" $other
	awk -v a="$mine" -v b="$(cat "$dir/last")" 'BEGIN { printf "  drawbar takes 1/%.1f of the processor time of ccusage\n", b / a }'
	$other >"$dir/theirs.json"
	# Tokens by kind and day must be equal, and what it costs to a millionth.
	jq -S '[.data.groups[] | {day: .key, in: .inputTokens, out: .outputTokens, read: .cacheReadTokens, write: .cacheCreationTokens}]' "$dir/mine.json" >"$dir/mine.days"
	jq -S '[.daily[] | {day: .date, in: .inputTokens, out: .outputTokens, read: .cacheReadTokens, write: (.cacheCreationTokens // 0)}]' "$dir/theirs.json" >"$dir/theirs.days"
	if cmp -s "$dir/mine.days" "$dir/theirs.days"; then
		echo "  tokens: equal on each of $(jq length "$dir/mine.days") days"
	else
		echo "  tokens: DIFFERENT, see: diff $dir/mine.days $dir/theirs.days" && fail=1
	fi
	# By day and model: one report of ours for each model.
	jq -r '[.data.groups[].models[]] | unique[]' "$dir/mine.json" | while read -r model; do
		$own "$drawbar" sessions cost --agent $agent --by day --model "$model" --timezone UTC --json |
			jq -c --arg m "$model" '.data.groups[] | [.key, $m, .inputTokens, .outputTokens, .cacheReadTokens, .cacheCreationTokens]'
	done | sort >"$dir/mine.models"
	jq -c '.daily[] | .date as $d | (if .modelBreakdowns then (.modelBreakdowns[] | [$d, .modelName, .inputTokens, .outputTokens, .cacheReadTokens, .cacheCreationTokens])
		else (.models | to_entries[] | [$d, .key, .value.inputTokens, .value.outputTokens, .value.cacheReadTokens, .value.cacheCreationTokens]) end)' "$dir/theirs.json" | sort >"$dir/theirs.models"
	if cmp -s "$dir/mine.models" "$dir/theirs.models"; then
		echo "  tokens: equal on each of $(wc -l <"$dir/mine.models") days and models"
	else
		echo "  tokens by day and model: DIFFERENT, see: diff $dir/mine.models $dir/theirs.models" && fail=1
	fi
	jq -n --slurpfile a "$dir/mine.json" --slurpfile b "$dir/theirs.json" '
		($a[0].data.total.totalUsd) as $x | ($b[0].totals | .totalCost // .costUSD) as $y |
		"  cost: \($x) and \($y) USD: " + (if (($x - $y) | fabs) <= 1e-6 * $y then "equal" else "DIFFERENT" end)' -r | tee "$dir/cost"
	! grep -q DIFFERENT "$dir/cost" || fail=1
done
exit $fail
