"""Runs the program drawbar against a scripted model: go test ./cmd/drawbar -run TestClients starts it."""

import os
import tempfile
import unittest

from drawbar import Drawbar, DrawbarError


class TestClient(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.drawbar = await Drawbar(os.environ["DRAWBAR"]).__aenter__()

    async def asyncTearDown(self):
        await self.drawbar.__aexit__()
        self.dir.cleanup()

    def request(self, text, **run):
        return {"message": {"text": text}, "run": {"agent": "harness", "model": "anthropic/m", "cwd": self.dir.name, **run}}

    def wrote(self):
        return os.path.exists(os.path.join(self.dir.name, "note.txt"))

    async def test_run_and_stream(self):
        run = await self.drawbar.run(self.request("say hello"))
        events = [event async for event in run]
        self.assertEqual("".join(e["delta"] for e in events if e["type"] == "text_delta"), "Hello from the model.")
        self.assertEqual([e["seq"] for e in events], list(range(1, len(events) + 1)))
        result = await run.result()
        self.assertEqual((events[-1]["type"], result["status"], result["text"]), ("finished", "completed", "Hello from the model."))
        self.assertEqual((await self.drawbar.run_result({"runId": run.id}))["runId"], run.id)
        self.assertEqual([e["seq"] for e in (await self.drawbar.runs_events({"runId": run.id, "after": 2}))["events"]], list(range(3, len(events) + 1)))
        self.assertIn(run.id, [r["runId"] for r in (await self.drawbar.runs_list({}))["runs"]])

    async def test_approve_and_deny(self):
        for approve in (False, True):
            run = await self.drawbar.run(self.request("write the note"), answers=True)
            async for event in run:
                if event["type"] == "approval_request":
                    self.assertFalse(self.wrote())
                    await (run.approve if approve else run.deny)(event["interactionId"], "as you wish")
            self.assertEqual(((await run.result())["status"], self.wrote()), ("completed", approve))

    async def test_approval_in_a_later_turn(self):
        request = self.request("write the note", nonInteractive=True)
        request["requirements"] = {"approvalInterrupts": "required"}
        result = await (await self.drawbar.run(request)).result()
        self.assertEqual((result["status"], self.wrote()), ("awaiting_approval", False))
        later = await self.drawbar.runs_waiting({"runId": result["runId"]})
        later["message"] = {"text": "go on"}
        later["continuation"]["decision"] = {"approvalId": result["approvalRequest"]["approvalKey"], "approved": True, "by": "ann"}
        self.assertEqual(((await (await self.drawbar.run(later)).result())["status"], self.wrote()), ("completed", True))
        with self.assertRaises(DrawbarError) as e:
            await self.drawbar.run(later)
        self.assertEqual(e.exception.code, "INTERACTION_NOT_FOUND")

    async def test_tools(self):
        asked = []

        async def shade(input):
            asked.append(input)
            return {"shade": "blue"}

        async def broken(input):
            raise ValueError("no colours today")

        for tool, answer in ((shade, "It is blue."), (broken, "Nobody knows.")):
            request = self.request("which shade has the sky?", approvalMode="yolo")
            request["tools"] = [{"name": "shade", "description": "the shade of a thing", "inputSchema": {"type": "object"}}]
            self.assertEqual((await (await self.drawbar.run(request, tools={"shade": tool})).result())["text"], answer)
        self.assertEqual(asked, [{"of": "sky"}])

    async def test_cancel(self):
        run = await self.drawbar.run(self.request("hang"))
        async for event in run:
            if event["type"] == "text_delta":
                await run.abort()
        result = await run.result()
        self.assertEqual((result["status"], result["error"]["metadata"]["code"]), ("failed", "ABORTED"))

    async def test_errors(self):
        with self.assertRaises(DrawbarError) as e:
            await self.drawbar.run({"message": {"text": "hi"}, "run": {"agent": "nobody"}})
        self.assertEqual(e.exception.code, "UNKNOWN_AGENT")
        with self.assertRaises(DrawbarError) as e:
            await self.drawbar.call("run.start", {"requests": {}})
        self.assertIn('unknown field "requests"', str(e.exception))
        with self.assertRaises(DrawbarError):
            await self.drawbar.call("nothing", {})
        negotiation = await self.drawbar.negotiate({"request": self.request("hi", sandbox="none", profile="")})
        self.assertTrue(negotiation["supported"])
        names = [a["name"] for a in (await self.drawbar.agents_list({}))["agents"]]
        self.assertIn("harness", names)

    async def test_the_end(self):
        run = await self.drawbar.run(self.request("hang"))
        await self.drawbar.__aexit__()
        result = await run.result()
        self.assertEqual(result["status"], "failed")
        with self.assertRaises(DrawbarError):
            await self.drawbar.agents_list({})
        self.drawbar = await Drawbar(os.environ["DRAWBAR"]).__aenter__()
        self.assertEqual((await self.drawbar.run_result({"runId": run.id}))["status"], "failed")

    async def test_a_program_that_dies(self):
        run = await self.drawbar.run(self.request("hang"))
        self.drawbar._process.kill()
        with self.assertRaises(DrawbarError):
            await run.result()
        self.assertEqual([e["type"] async for e in run if e["type"] == "finished"], [])


if __name__ == "__main__":
    unittest.main()
