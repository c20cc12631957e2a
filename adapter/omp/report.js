// Loaded by Drawbar for one run: states on standard error what Oh My Pi leaves out of the protocol: what each model call used,
// why it failed, and that it is tried again. The pause makes sure that a failure is known when the turn ends.
import { writeSync } from "node:fs";

const most = 2000; // characters of a message
const say = (ctx, fields) => {
  const state = { session: ctx?.sessionManager?.getSessionId?.(), ...fields };
  writeSync(2, "drawbar:" + JSON.stringify(state, (_, v) => (typeof v === "string" ? v.slice(0, most) : v)) + "\n");
};
const pause = () => new Promise((done) => setTimeout(done, 500));

export default function (pi) {
  pi.on("session_start", async (_, ctx) => say(ctx, {}));
  pi.on("message_end", async ({ message }, ctx) => {
    if (message.role !== "assistant") return;
    const failed = message.stopReason === "error" ? message.errorMessage || "the model call failed" : undefined;
    say(ctx, { ended: true, usage: message.usage, failed });
    if (failed) await pause();
  });
  pi.on("auto_retry_start", async (event, ctx) => say(ctx, { retry: event.errorMessage || "the model call failed" }));
  pi.on("auto_retry_end", async (event, ctx) => {
    if (event.success) return;
    say(ctx, { failed: event.finalError || "the retries are used up" });
    await pause();
  });
}
