# The developer's worker: builds the list, tests it, and stages the turn result. An agent would take its place.
set -e
field() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" "$AGENTXCHAIN_DISPATCH_DIR/ASSIGNMENT.json" | head -n 1; }

cat > todo.sh <<'END'
# todo.sh add TEXT, todo.sh list, todo.sh done NUMBER; the list is in the file that TODO names, else todo.txt.
list=${TODO:-todo.txt}
case $1 in
add) shift; echo "$*" >> "$list" ;;
list) cat -n "$list" ;;
done) sed "${2}d" "$list" > "$list.new" && mv "$list.new" "$list" ;;
*) echo "usage: todo.sh add TEXT | list | done NUMBER" >&2; exit 2 ;;
esac
END
cat > todo_test.sh <<'END'
set -e
TODO=$(mktemp); export TODO
sh todo.sh add buy milk
sh todo.sh add call Ann
sh todo.sh done 1
test "$(cat "$TODO")" = "call Ann"
rm "$TODO"
END
sh todo_test.sh

cat > "$AGENTXCHAIN_STAGING_PATH" <<END
{
  "schema_version": "1.0", "run_id": "$(field run_id)", "turn_id": "$AGENTXCHAIN_TURN_ID", "role": "dev", "runtime_id": "builder",
  "status": "completed", "summary": "Built the list and its test.", "decisions": [],
  "objections": [{"id": "OBJ-001", "severity": "low", "statement": "The list cannot be sorted.", "status": "raised"}],
  "files_changed": ["todo.sh", "todo_test.sh"], "artifact": {"type": "workspace"},
  "verification": {"status": "pass", "commands": ["sh todo_test.sh"], "machine_evidence": [{"command": "sh todo_test.sh", "exit_code": 0}]},
  "proposed_next_role": "qa"
}
END
