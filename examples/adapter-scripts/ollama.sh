#!/bin/sh
# An adapter script for Drawbar's roadmap: a model of Ollama writes the one file of a task.
#
# Copy it to .claude/agents/adapters/ollama.sh. "(agent: ollama)" in the line of a task names it, "(model: NAME)" the model.
model=${ADAPTER_MODEL:-llama3.2}
case $1 in
info)
  echo "{\"name\": \"ollama\", \"display_name\": \"Ollama\", \"version\": \"1.0\", \"supports_isolation\": true, \"supports_streaming\": false, \"model_default\": \"$model\"}" ;;
health)
  command -v ollama > /dev/null ;;
execute)
  file=$(sed -n 's/.*\*\*Files\*\*.*`\(.*\)`.*/\1/p' "$2/task.md")
  report=$3/completion-report.md
  to=$report
  [ -z "$file" ] || { to=$3/files/$file; mkdir -p "$(dirname "$to")"; }
  result=pass
  ollama run "$model" < "$2/task.md" > "$to" || result=fail
  [ -z "$file" ] || echo "$model wrote $file." > "$report"
  echo $result > "$3/result"
  [ $result = pass ] ;;
*)
  echo "usage: ollama.sh info | health | execute CONTEXT OUTPUT" >&2
  exit 2 ;;
esac
