#!/usr/bin/env bash
# What action.yml runs: builds drawbar unless DRAWBAR names one, runs the agent, and writes the outputs and the summary of the job.
# Values come by the environment, never by the text of the script, so that nothing in them is run by the shell.
set -euo pipefail
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

drawbar=${DRAWBAR:-}
if [ -z "$drawbar" ]; then
  drawbar=$temp/drawbar
  (cd "$(dirname "${BASH_SOURCE[0]}")/.." && CGO_ENABLED=0 go build -o "$drawbar" ./cmd/drawbar)
fi

arguments=(run --non-interactive "${DRAWBAR_NON_INTERACTIVE:-deny}" --output "$temp/answer")
if [ -n "${DRAWBAR_REPORT:-}" ]; then arguments+=(--junit "$DRAWBAR_REPORT"); fi
if [ -n "${DRAWBAR_PROMPT_FILE:-}" ]; then arguments+=(--file "$DRAWBAR_PROMPT_FILE"); fi
if [ -n "${DRAWBAR_PROMPT:-}" ]; then arguments+=(--prompt "$DRAWBAR_PROMPT"); fi
while IFS= read -r argument; do
  if [ -n "$argument" ]; then arguments+=("$argument"); fi
done <<<"${DRAWBAR_ARGUMENTS:-}"

code=0
"$drawbar" "${arguments[@]}" "$DRAWBAR_AGENT" </dev/null || code=$?

touch "$temp/answer"
if [ -n "${GITHUB_OUTPUT:-}" ]; then
  end=answer-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n') # no answer can contain it
  {
    echo "exit-code=$code"
    echo "answer<<$end"
    cat "$temp/answer"
    echo "$end"
  } >>"$GITHUB_OUTPUT"
fi
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
  cat "$temp/answer" >>"$GITHUB_STEP_SUMMARY"
fi
exit "$code"
