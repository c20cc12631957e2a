// A small assistant over any agent of Drawbar: it asks its policy first, and keeps turns that wait for an approval or an answer in a file.
//
//   node bot.ts ask "delete the old logs"      prints the answer, or what it waits for
//   node bot.ts list                           prints what waits
//   node bot.ts answer ID approve|deny|TEXT    continues a turn
//
// BOT_AGENT and BOT_MODEL name who does the work, BOT_FILE is the file of the turns that wait (bot.json), BOT_NOW the time (default the clock's).
// It needs drawbar on PATH, and Node.js 22.18 or later.

import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { Drawbar, DrawbarError, type Request, type Result } from "../../clients/typescript/src/index.ts";

interface Waiting {
  status: Result["status"];
  until: string;
  continuation: NonNullable<Request["continuation"]>;
}

const env = process.env;
const file = env["BOT_FILE"] ?? "bot.json";
const now = () => new Date(env["BOT_NOW"] ?? Date.now());
const waits: Record<string, string> = { awaiting_approval: "an approval", needs_clarification: "an answer" };
const load = (): Record<string, Waiting> => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {});

function save(turns: Record<string, Waiting>): void {
  writeFileSync(file + ".new", JSON.stringify(turns, null, 1));
  renameSync(file + ".new", file); // whole, or not at all
}

/** Runs a turn, and prints its answer or keeps it. */
async function turn(drawbar: Drawbar, request: Request): Promise<void> {
  request.requirements = { approvalInterrupts: "required" };
  request.run = { agent: env["BOT_AGENT"] ?? "", nonInteractive: true };
  if (!request.continuation) request.run.model = env["BOT_MODEL"] ?? ""; // else it has the model of the turn before
  const result = await (await drawbar.run(request)).result();
  if (result.status in waits && result.continuation) {
    const key = randomBytes(4).toString("hex");
    const until = new Date(now().getTime() + 7 * 24 * 3600 * 1000).toISOString();
    save({ ...load(), [key]: { status: result.status, until, continuation: result.continuation } });
    console.log(`${key} waits for ${waits[result.status]}`);
  } else if (result.status === "completed") {
    console.log(result.text);
  } else {
    throw new Error(`${result.status}: ${result.error?.message ?? ""}`);
  }
}

async function answer(drawbar: Drawbar, key: string, text: string): Promise<void> {
  const { [key]: waiting, ...rest } = load();
  if (!waiting || new Date(waiting.until) <= now()) throw new Error(`${key} waits for nothing: it is unknown, was answered, or has expired`);
  const continuation = waiting.continuation;
  let message = text;
  if (waiting.status === "awaiting_approval") {
    if (text !== "approve" && text !== "deny") throw new Error("answer it with approve or deny");
    continuation.decision = { approvalId: String(continuation.state?.["approvalId"]), approved: text === "approve", by: env["USER"] ?? "" };
    message = text === "approve" ? "Go on." : "Go on without it.";
  }
  save(rest); // before anything runs: a turn is continued once
  await turn(drawbar, { message: { text: message }, continuation });
}

async function main([command, ...args]: string[]): Promise<void> {
  const drawbar = await Drawbar.start();
  try {
    if (command === "ask" && args.length === 1) {
      if (args[0]!.toLowerCase().includes("transfer")) throw new Error("this bot moves no money");
      await turn(drawbar, { message: { text: args[0]! }, instructions: { systemPrompt: "You keep a folder tidy." } });
    } else if (command === "list") {
      for (const [key, waiting] of Object.entries(load())) console.log(key, "waits for", waits[waiting.status], "until", waiting.until);
    } else if (command === "answer" && args.length === 2) {
      await answer(drawbar, args[0]!, args[1]!);
    } else {
      throw new Error("usage: bot.ts ask TEXT | list | answer ID approve|deny|TEXT");
    }
  } finally {
    await drawbar.close();
  }
}

main(process.argv.slice(2)).catch((e: unknown) => {
  console.error("bot:", e instanceof DrawbarError || e instanceof Error ? e.message : e);
  process.exitCode = 1;
});
