"""A small assistant over any agent of Drawbar: it asks its policy first, and keeps turns that wait for an approval or an answer in a file.

  python3 bot.py ask "delete the old logs"      prints the answer, or what it waits for
  python3 bot.py list                           prints what waits
  python3 bot.py answer ID approve|deny|TEXT    continues a turn

BOT_AGENT and BOT_MODEL name who does the work, BOT_FILE is the file of the turns that wait (bot.json), BOT_NOW the time (default the clock's).
It needs clients/python on PYTHONPATH, and drawbar on PATH.
"""

import asyncio
import json
import os
import pathlib
import secrets
import sys
from datetime import datetime, timedelta, timezone

from drawbar import Drawbar, DrawbarError

FILE = pathlib.Path(os.environ.get("BOT_FILE", "bot.json"))
WAITS = {"awaiting_approval": "an approval", "needs_clarification": "an answer"}


def now() -> datetime:
    return datetime.fromisoformat(os.environ["BOT_NOW"]) if "BOT_NOW" in os.environ else datetime.now(timezone.utc)


def load() -> dict:
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def save(turns: dict) -> None:
    new = FILE.with_suffix(".new")
    new.write_text(json.dumps(turns, indent=1))
    new.replace(FILE)  # whole, or not at all


async def turn(drawbar: Drawbar, request: dict) -> None:
    """Runs a turn, and prints its answer or keeps it."""
    request["requirements"] = {"approvalInterrupts": "required"}
    request["run"] = {"agent": os.environ.get("BOT_AGENT", ""), "nonInteractive": True}
    if "continuation" not in request:  # else it has the model of the turn before
        request["run"]["model"] = os.environ.get("BOT_MODEL", "")
    result = await (await drawbar.run(request)).result()
    if result["status"] in WAITS:
        turns, key = load(), secrets.token_hex(4)
        turns[key] = {"status": result["status"], "until": (now() + timedelta(days=7)).isoformat(), "continuation": result["continuation"]}
        save(turns)
        print(f"{key} waits for {WAITS[result['status']]}")
    elif result["status"] == "completed":
        print(result["text"])
    else:
        sys.exit(f"bot: {result['status']}: {result.get('error', {}).get('message', '')}")


async def answer(drawbar: Drawbar, key: str, text: str) -> None:
    turns = load()
    waiting = turns.pop(key, None)
    if waiting is None or datetime.fromisoformat(waiting["until"]) <= now():
        sys.exit(f"bot: {key} waits for nothing: it is unknown, was answered, or has expired")
    continuation, message = waiting["continuation"], text
    if waiting["status"] == "awaiting_approval":
        if text not in ("approve", "deny"):
            sys.exit("bot: answer it with approve or deny")
        continuation["decision"] = {"approvalId": continuation["state"]["approvalId"], "approved": text == "approve", "by": os.environ.get("USER", "")}
        message = "Go on." if text == "approve" else "Go on without it."
    save(turns)  # before anything runs: a turn is continued once
    await turn(drawbar, {"message": {"text": message}, "continuation": continuation})


async def main(args: list[str]) -> None:
    async with Drawbar() as drawbar:
        match args:
            case ["ask", text]:
                if "transfer" in text.lower():
                    sys.exit("bot: this bot moves no money")
                await turn(drawbar, {"message": {"text": text}, "instructions": {"systemPrompt": "You keep a folder tidy."}})
            case ["list"]:
                for key, waiting in load().items():
                    print(key, "waits for", WAITS[waiting["status"]], "until", waiting["until"])
            case ["answer", key, text]:
                await answer(drawbar, key, text)
            case _:
                sys.exit(__doc__)


try:
    asyncio.run(main(sys.argv[1:]))
except DrawbarError as e:
    sys.exit(f"bot: {e}")
