"""The client of "drawbar rpc"."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from .types import PROTOCOL_VERSION, Decision, Event, Methods, Request, Result, ToolCall, ToolResult

Tool = Callable[[Any], Awaitable[Any]]
"""Runs a tool of a request with its input, and returns its output as JSON. An exception is told to the agent."""

_LIMIT = 64 << 20  # bytes of a message, as of the server


class DrawbarError(Exception):
    """A request that failed. code is one of Drawbar's error codes, hint says what to do."""

    def __init__(self, message: str, code: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.code, self.hint = code, hint


class Run:
    """A run that this client started: its events, once, and its result."""

    def __init__(self, client: Drawbar, run_id: str, agent: str, tools: Mapping[str, Tool]) -> None:
        self.id, self.agent = run_id, agent
        self._client, self._tools = client, tools
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()

    async def __aiter__(self) -> AsyncIterator[Event]:
        while (event := await self._events.get()) is not None:
            yield event
        self._events.put_nowait(None)  # for whoever else iterates

    async def result(self) -> Result:
        """Waits for the end of the run. A failed run is a result, not an exception; an exception is the end of the program drawbar."""
        return await asyncio.shield(self._result)

    async def answer(self, question_id: str, decision: Decision) -> None:
        """Answers a question: approve or deny what an event approval_request asks, or give the text that input_required wants."""
        await self._control(verb="answer", interactionId=question_id, decision=decision)

    async def approve(self, question_id: str, reason: str = "") -> None:
        await self.answer(question_id, {"approve": True, "reason": reason})

    async def deny(self, question_id: str, reason: str = "") -> None:
        await self.answer(question_id, {"approve": False, "reason": reason})

    async def send(self, text: str) -> None:
        """Sends a message into a conversation (run.interactive)."""
        await self._control(verb="send", text=text)

    async def interrupt(self) -> None:
        await self._control(verb="interrupt")

    async def abort(self) -> None:
        await self._control(verb="abort")

    async def close_input(self) -> None:
        """Says that no message follows: a conversation ends after its turn."""
        await self._control(verb="close-input")

    async def _control(self, **call: Any) -> None:
        await self._client.call("run.control", {"runId": self.id, **call})

    def _event(self, event: Event) -> None:
        self._events.put_nowait(event)
        if event["type"] == "finished":
            self._events.put_nowait(None)
            if not self._result.done():
                self._result.set_result(event["result"])

    def _gone(self, error: Exception) -> None:
        self._events.put_nowait(None)
        if not self._result.done():
            self._result.set_exception(error)
            self._result.exception()  # nobody has to ask for it

    async def _call(self, call: ToolCall) -> ToolResult:
        output = await self._tools[call["name"]](call.get("input"))
        return {"output": output}  # type: ignore[typeddict-item]


class Drawbar(Methods):
    """A program drawbar that serves this one. Use it with "async with", in one event loop."""

    def __init__(self, command: str = "drawbar", *, cwd: str | None = None, env: Mapping[str, str] | None = None) -> None:
        self._command, self._cwd, self._env = command, cwd, env
        self._process: asyncio.subprocess.Process | None = None
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._runs: dict[str, Run] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._error: DrawbarError | None = None
        self._last = 0
        self._started: dict[int, Mapping[str, Tool]] = {}

    async def __aenter__(self) -> Drawbar:
        self._process = await asyncio.create_subprocess_exec(
            self._command, "rpc", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=_LIMIT,
            cwd=self._cwd, env=None if self._env is None else {**os.environ, **self._env})
        self._spawn(self._read())
        await self.call("initialize", {"clientName": "drawbar-python", "protocolVersion": PROTOCOL_VERSION})
        return self

    async def __aexit__(self, *_: object) -> None:
        """Aborts the runs that are not over, and waits for the program to end."""
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def run(self, request: Request, *, tools: Mapping[str, Tool] | None = None, answers: bool = False, fallback: list[str] | None = None) -> Run:
        """Starts a run. tools run the request's tools, by name. With answers, questions wait for run.answer; without, nobody can be asked."""
        params: dict[str, Any] = {"request": request, "answers": answers, "fallback": fallback or []}
        return await self._send("run.start", params, tools or {})

    async def call(self, method: str, params: Any) -> Any:
        """Calls a method of the server. The methods of the class Methods do the same with types."""
        return await self._send(method, params, None)

    async def _send(self, method: str, params: Any, tools: Mapping[str, Tool] | None) -> Any:
        if self._error is not None:
            raise self._error
        self._last += 1
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[self._last] = answer
        if tools is not None:
            self._started[self._last] = tools
        await self._write({"id": self._last, "method": method, "params": params})
        return await answer

    async def _write(self, message: dict[str, Any]) -> None:
        assert self._process is not None and self._process.stdin is not None, "use it with: async with Drawbar() as drawbar"
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        try:
            await self._process.stdin.drain()
        except ConnectionError:
            pass  # reading says what happened

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        why = "drawbar has ended"
        try:
            async for line in self._process.stdout:
                self._message(json.loads(line))
        except Exception as e:  # noqa: BLE001 - whoever waits must hear of it
            why = f"drawbar sent what is not a message: {e}"
        self._error = DrawbarError(why)
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(self._error)
        for run in self._runs.values():
            run._gone(self._error)

    def _message(self, m: dict[str, Any]) -> None:
        method = m.get("method")
        if method == "run.event":
            run = self._runs.get(m["params"]["runId"])
            if run is not None:
                run._event(m["params"]["event"])
                if m["params"]["event"]["type"] == "finished":
                    del self._runs[run.id]
        elif method == "tool.call":
            self._spawn(self._tool(m["id"], m["params"]))
        elif method is None and m.get("id") in self._waiting:
            answer = self._waiting.pop(m["id"])
            tools = self._started.pop(m["id"], None)
            if "error" in m:
                data = m["error"].get("data") or {}
                if not answer.done():
                    answer.set_exception(DrawbarError(m["error"]["message"], data.get("code", ""), data.get("hint", "")))
                return
            result = m.get("result")
            if tools is not None:  # its events may be in the next line
                started = Run(self, result["runId"], result["agent"], tools)
                self._runs[started.id] = result = started
            if not answer.done():
                answer.set_result(result)

    async def _tool(self, call_id: Any, params: dict[str, Any]) -> None:
        try:
            result = await self._runs[params["runId"]]._call(params["call"])
            await self._write({"id": call_id, "result": result})
        except Exception as e:  # noqa: BLE001 - whatever a tool does is told to the agent
            await self._write({"id": call_id, "error": {"code": -32000, "message": f"{type(e).__name__}: {e}"}})
