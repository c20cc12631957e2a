#!/usr/bin/env python3
"""An adapter script for Drawbar's roadmap: a model with an OpenAI-compatible API writes the one file of a task.

Copy it to .claude/agents/adapters/writer.sh and make it executable; "(agent: writer)" in the line of a task names it. It needs OPENAI_API_KEY, and takes
OPENAI_BASE_URL and the model of the task, "(model: NAME)".
"""

import json
import os
import pathlib
import re
import sys
import urllib.request

INFO = {"name": "writer", "display_name": "Writer", "version": "1.0", "supports_isolation": True, "supports_streaming": False, "model_default": "gpt-5-mini"}


def ask(prompt: str) -> str:
    url = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1") + "/chat/completions"
    body = {"model": os.environ.get("ADAPTER_MODEL") or INFO["model_default"], "messages": [{"role": "user", "content": prompt}]}
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


def execute(context: pathlib.Path, output: pathlib.Path) -> str:
    task = (context / "task.md").read_text()
    names = re.findall(r"`([^`]+)`", "".join(line for line in task.splitlines() if "**Files**" in line))
    if len(names) > 1:
        raise ValueError("a task of the writer has one file, not " + ", ".join(names))
    given = [p for p in (context / "conventions.md", context / "design.md", *context.glob("files/**/*")) if p.is_file()]
    parts = [task, *(f"{p.relative_to(context)}:\n\n{p.read_text()}" for p in given)]
    text = ask("\n\n".join([*parts, "Answer with the new content of the file, and nothing else."] if names else parts))
    if not names:
        return text
    file = output / "files" / names[0]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return f"Wrote {names[0]}."


match sys.argv[1:]:
    case ["info"]:
        print(json.dumps(INFO))
    case ["health"]:
        sys.exit(0 if os.environ.get("OPENAI_API_KEY") else "OPENAI_API_KEY is not set")
    case ["execute", context, output]:
        out = pathlib.Path(output)
        try:
            result, report = "pass", execute(pathlib.Path(context), out)
        except Exception as e:
            result, report = "fail", f"{type(e).__name__}: {e}"
        (out / "completion-report.md").write_text(report + "\n")
        (out / "result").write_text(result + "\n")
        sys.exit(0 if result == "pass" else report)
    case _:
        sys.exit("usage: writer info | health | execute CONTEXT OUTPUT")
