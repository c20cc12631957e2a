// Runs the program drawbar against a scripted model: go test ./cmd/drawbar -run TestClients starts it.

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Drawbar, DrawbarError, type Event, type Request, type RunOptions } from "../src/index.ts";

const command = process.env["DRAWBAR"] ?? "drawbar";

async function serving(f: (drawbar: Drawbar, request: (text: string, run?: Request["run"]) => Request, wrote: () => boolean) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "drawbar-client-"));
  const drawbar = await Drawbar.start({ command });
  try {
    await f(
      drawbar,
      (text, run) => ({ message: { text }, run: { agent: "harness", model: "anthropic/m", cwd: dir, ...run } }),
      () => existsSync(join(dir, "note.txt")),
    );
  } finally {
    await drawbar.close();
    rmSync(dir, { recursive: true });
  }
}

test("run and stream", () =>
  serving(async (drawbar, request) => {
    const run = await drawbar.run(request("say hello"));
    const events: Event[] = [];
    for await (const event of run) events.push(event);
    const text = events.map((e) => (e.type === "text_delta" ? e.delta : "")).join("");
    assert.equal(text, "Hello from the model.");
    assert.deepEqual(events.map((e) => e.seq), events.map((_, i) => i + 1));
    const result = await run.result();
    assert.equal(result.status, "completed");
    assert.equal(result.text, text);
    assert.equal((await drawbar.call("run.result", { runId: run.id })).runId, run.id);
    assert.equal((await drawbar.call("runs.events", { runId: run.id, after: 2 })).events[0]!.seq, 3);
  }));

test("approve and deny", () =>
  serving(async (drawbar, request, wrote) => {
    for (const approve of [false, true]) {
      const run = await drawbar.run(request("write the note"), { answers: true });
      for await (const event of run) {
        if (event.type !== "approval_request") continue;
        assert.equal(wrote(), false);
        await (approve ? run.approve(event.interactionId) : run.deny(event.interactionId, "not now"));
      }
      assert.equal((await run.result()).status, "completed");
      assert.equal(wrote(), approve);
    }
  }));

test("an approval in a later turn", () =>
  serving(async (drawbar, request, wrote) => {
    const first = request("write the note", { nonInteractive: true });
    first.requirements = { approvalInterrupts: "required" };
    const result = await (await drawbar.run(first)).result();
    assert.equal(result.status, "awaiting_approval");
    const later = await drawbar.call("runs.waiting", { runId: result.runId! });
    later.message = { text: "go on" };
    later.continuation!.decision = { approvalId: result.approvalRequest!.approvalKey!, approved: true, by: "ann" };
    assert.equal((await (await drawbar.run(later)).result()).status, "completed");
    assert.ok(wrote());
    await assert.rejects(drawbar.run(later), (e) => e instanceof DrawbarError && e.code === "INTERACTION_NOT_FOUND");
  }));

test("tools", () =>
  serving(async (drawbar, request) => {
    const asked: unknown[] = [];
    const tools: [RunOptions["tools"], string][] = [
      [{ shade: (input) => (asked.push(input), { shade: "blue" }) }, "It is blue."],
      [{ shade: () => { throw new Error("no colours today"); } }, "Nobody knows."],
    ];
    for (const [tool, answer] of tools) {
      const asks = request("which shade has the sky?", { approvalMode: "yolo" });
      asks.tools = [{ name: "shade", description: "the shade of a thing", inputSchema: { type: "object" } }];
      assert.equal((await (await drawbar.run(asks, { tools: tool })).result()).text, answer);
    }
    assert.deepEqual(asked, [{ of: "sky" }]);
  }));

test("cancel", () =>
  serving(async (drawbar, request) => {
    const run = await drawbar.run(request("hang"));
    for await (const event of run) if (event.type === "text_delta") await run.abort();
    assert.equal((await run.result()).error?.metadata?.["code"], "ABORTED");
  }));

test("errors", () =>
  serving(async (drawbar) => {
    await assert.rejects(drawbar.run({ message: { text: "hi" }, run: { agent: "nobody" } }), (e) => e instanceof DrawbarError && e.code === "UNKNOWN_AGENT");
    await assert.rejects(drawbar.call("nothing" as "agents.list"), /there is no method/);
    assert.ok((await drawbar.call("agents.list")).agents.some((a) => a.name === "harness"));
  }));

test("the end of the client", () =>
  serving(async (drawbar, request) => {
    const run = await drawbar.run(request("hang"));
    await drawbar.close();
    assert.equal((await run.result()).status, "failed");
    await assert.rejects(drawbar.call("agents.list"), DrawbarError);
  }));

test("a program that is not there", async () => {
  await assert.rejects(Drawbar.start({ command: "/no/such/drawbar" }), /did not start/);
});
