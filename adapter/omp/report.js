// Loaded by Drawbar for one run: states on standard error what Oh My Pi leaves out of the protocol: what each model
// call used, why it failed, and that it is tried again. The pause makes sure that a failure is known when the turn ends.
// At the limit of model calls it ends the turn.
import { writeSync } from "node:fs";

const limit = 0; // model calls of the session, 0 for no limit
const most = 2000; // characters of a message
const say = (ctx, fields) => {
  const state = { session: ctx?.sessionManager?.getSessionId?.(), ...fields };
  writeSync(2, "drawbar:" + JSON.stringify(state, (_, v) => (typeof v === "string" ? v.slice(0, most) : v)) + "\n");
};
const pause = () => new Promise((done) => setTimeout(done, 500));

// The first call of a run is the session's own; those of sub-agents are not counted.
const run = (globalThis[Symbol.for("drawbar")] ??= { session: undefined, calls: 0 });
const own = (ctx) => ctx.sessionManager.getSessionId() === run.session;

export default function (pi) {
  pi.on("session_start", async (_, ctx) => say(ctx, {}));
  pi.on("message_end", async ({ message }, ctx) => {
    if (message.role !== "assistant") return;
    const failed = message.stopReason === "error" ? message.errorMessage || "the model call failed" : undefined;
    run.session ??= ctx.sessionManager.getSessionId();
    if (own(ctx) && !failed) run.calls++;
    say(ctx, { ended: true, usage: message.usage, failed });
    if (failed) await pause();
  });
  pi.on("turn_end", async ({ toolResults }, ctx) => {
    if (!limit || run.calls < limit || !toolResults?.length || !own(ctx)) return;
    say(ctx, { limit: true });
    ctx.abort();
  });
  pi.on("auto_retry_start", async (event, ctx) => say(ctx, { retry: event.errorMessage || "the model call failed" }));
  pi.on("auto_retry_end", async (event, ctx) => {
    if (event.success) return;
    say(ctx, { failed: event.finalError || "the retries are used up" });
    await pause();
  });
}
