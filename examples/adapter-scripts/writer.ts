#!/usr/bin/env node
// An adapter script for Drawbar's roadmap: a model with an OpenAI-compatible API writes the one file of a task.
//
// Node.js 22.18 or later runs it as it is, under a name that ends in .ts: .claude/agents/adapters/writer.sh is the line exec node writer.ts "$@" with its
// path. "(agent: writer)" in the line of a task names it. It needs OPENAI_API_KEY, and takes OPENAI_BASE_URL and the model of the task, "(model: NAME)".

import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const info = { name: "writer", display_name: "Writer", version: "1.0", supports_isolation: true, supports_streaming: false, model_default: "gpt-5-mini" };
const env = process.env;

async function ask(prompt: string): Promise<string> {
  const answer = await fetch((env.OPENAI_BASE_URL ?? "https://api.openai.com/v1") + "/chat/completions", {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${env.OPENAI_API_KEY}` },
    body: JSON.stringify({ model: env.ADAPTER_MODEL || info.model_default, messages: [{ role: "user", content: prompt }] }),
  });
  if (!answer.ok) throw new Error(`the model's API answered ${answer.status}: ${await answer.text()}`);
  return ((await answer.json()) as { choices: { message: { content: string } }[] }).choices[0].message.content;
}

/** given are the files that the context has besides the task. */
function given(context: string): string[] {
  const files = join(context, "files");
  const copies = existsSync(files) ? readdirSync(files, { recursive: true, encoding: "utf8" }).map((name) => join(files, name)) : [];
  return [join(context, "conventions.md"), join(context, "design.md"), ...copies].filter((file) => existsSync(file) && statSync(file).isFile());
}

async function execute(context: string, output: string): Promise<string> {
  const task = readFileSync(join(context, "task.md"), "utf8");
  const line = task.split("\n").filter((l) => l.includes("**Files**")).join();
  const names = [...line.matchAll(/`([^`]+)`/g)].map((m) => m[1]);
  if (names.length > 1) throw new Error(`a task of the writer has one file, not ${names.join(", ")}`);
  const parts = [task, ...given(context).map((file) => `${relative(context, file)}:\n\n${readFileSync(file, "utf8")}`)];
  if (names.length === 0) return ask(parts.join("\n\n"));
  const file = join(output, "files", names[0]);
  const text = await ask([...parts, "Answer with the new content of the file, and nothing else."].join("\n\n"));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return `Wrote ${names[0]}.`;
}

async function main(verb: string, context: string, output: string): Promise<number> {
  switch (verb) {
    case "info":
      console.log(JSON.stringify(info));
      return 0;
    case "health":
      if (!env.OPENAI_API_KEY) console.error("OPENAI_API_KEY is not set");
      return env.OPENAI_API_KEY ? 0 : 1;
    case "execute": {
      const [result, report] = await execute(context, output).then((text) => ["pass", text], (e: Error) => ["fail", `${e.name}: ${e.message}`]);
      writeFileSync(join(output, "completion-report.md"), report + "\n");
      writeFileSync(join(output, "result"), result + "\n");
      if (result === "fail") console.error(report);
      return result === "pass" ? 0 : 1;
    }
  }
  console.error("usage: writer info | health | execute CONTEXT OUTPUT");
  return 2;
}

const [verb, context, output] = process.argv.slice(2);
process.exit(await main(verb, context, output));
