// The client of "drawbar rpc".

import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { type Decision, type ErrorData, type Event, type Methods, protocolVersion, type Request, type Result, type RunControl, type Started, type ToolCallParams } from "./types.ts";

/** A request that failed. code is one of Drawbar's error codes, hint says what to do. */
export class DrawbarError extends Error {
  readonly code: string;
  readonly hint: string;

  constructor(message: string, data?: Partial<ErrorData>) {
    super(message);
    this.name = "DrawbarError";
    this.code = data?.code ?? "";
    this.hint = data?.hint ?? "";
  }
}

/** Runs a tool of a request with its input, and returns its output as JSON. An exception is told to the agent. */
export type Tool = (input: unknown) => unknown | Promise<unknown>;

export interface Options {
  /** The program; drawbar on PATH by default. */
  command?: string;
  cwd?: string;
  /** Added to the environment of this process. */
  env?: Record<string, string>;
}

export interface RunOptions {
  /** Run the request's tools, by name. */
  tools?: Record<string, Tool>;
  /** Questions wait for run.answer; without, nobody can be asked. */
  answers?: boolean;
  /** Agents to try when the one before cannot. */
  fallback?: string[];
}

/** A run that this client started: its events, and its result. */
export class Run implements AsyncIterable<Event> {
  readonly id: string;
  readonly agent: string;
  readonly tools: Record<string, Tool>;
  #client: Drawbar;
  #events: Event[] = [];
  #over = false;
  #woken: (() => void)[] = [];
  #result = Promise.withResolvers<Result>();

  constructor(client: Drawbar, started: Started, tools: Record<string, Tool>) {
    this.#client = client;
    this.id = started.runId;
    this.agent = started.agent;
    this.tools = tools;
    this.#result.promise.catch(() => {}); // nobody has to ask for it
  }

  /** The events that nobody has read yet, until the run is over. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Event> {
    for (;;) {
      const event = this.#events.shift();
      if (event !== undefined) {
        yield event;
      } else if (this.#over) {
        return;
      } else {
        await new Promise<void>((resolve) => this.#woken.push(resolve));
      }
    }
  }

  /** Waits for the end of the run. A failed run is a result, not an exception; an exception is the end of the program drawbar. */
  result(): Promise<Result> {
    return this.#result.promise;
  }

  /** Answers a question: approve or deny what an event approval_request asks, or give the text that input_required wants. */
  async answer(questionId: string, decision: Decision): Promise<void> {
    await this.#control({ verb: "answer", interactionId: questionId, decision });
  }

  approve(questionId: string, reason = ""): Promise<void> {
    return this.answer(questionId, { approve: true, reason });
  }

  deny(questionId: string, reason = ""): Promise<void> {
    return this.answer(questionId, { approve: false, reason });
  }

  /** Sends a message into a conversation (run.interactive). */
  send(text: string): Promise<void> {
    return this.#control({ verb: "send", text });
  }

  interrupt(): Promise<void> {
    return this.#control({ verb: "interrupt" });
  }

  abort(): Promise<void> {
    return this.#control({ verb: "abort" });
  }

  /** Says that no message follows: a conversation ends after its turn. */
  closeInput(): Promise<void> {
    return this.#control({ verb: "close-input" });
  }

  async #control(call: Omit<RunControl, "runId">): Promise<void> {
    await this.#client.call("run.control", { runId: this.id, ...call });
  }

  /** For the client: an event has come. */
  push(event: Event): void {
    this.#events.push(event);
    if (event.type === "finished") {
      this.#over = true;
      this.#result.resolve(event.result);
    }
    this.#wake();
  }

  /** For the client: nothing comes any more. */
  end(error: Error): void {
    this.#over = true;
    this.#result.reject(error);
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#woken.splice(0)) resolve();
  }
}

interface Message {
  id?: number;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: { code: number; message: string; data?: ErrorData };
}

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
  tools?: Record<string, Tool>;
}

/** A program drawbar that serves this one. close ends it. */
export class Drawbar implements AsyncDisposable {
  #process: ChildProcess;
  #waiting = new Map<number, Waiting>();
  #runs = new Map<string, Run>();
  #last = 0;
  #error: Error | undefined;
  #ended: Promise<void>;

  private constructor(options: Options) {
    this.#process = spawn(options.command ?? "drawbar", ["rpc"], { cwd: options.cwd, env: { ...process.env, ...options.env }, stdio: ["pipe", "pipe", "inherit"] });
    this.#process.stdin!.on("error", () => {}); // the end of the program says what happened
    this.#ended = new Promise((resolve) => {
      this.#process.on("error", (e) => {
        this.#fail(new DrawbarError(`drawbar did not start: ${e.message}`));
        resolve();
      });
      this.#process.on("close", () => {
        this.#fail(new DrawbarError("drawbar has ended"));
        resolve();
      });
    });
    createInterface({ input: this.#process.stdout!, crlfDelay: Infinity }).on("line", (line) => this.#line(line));
  }

  static async start(options: Options = {}): Promise<Drawbar> {
    const drawbar = new Drawbar(options);
    await drawbar.call("initialize", { clientName: "drawbar-typescript", protocolVersion });
    return drawbar;
  }

  /** Aborts the runs that are not over, and waits for the program to end. */
  async close(): Promise<void> {
    this.#process.stdin!.end();
    await this.#ended;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Starts a run. */
  async run(request: Request, options: RunOptions = {}): Promise<Run> {
    const params = { request, answers: options.answers ?? false, fallback: options.fallback ?? [] };
    return (await this.#send("run.start", params, options.tools ?? {})) as Run;
  }

  /** Calls a method of the server. */
  async call<M extends keyof Methods>(method: M, params?: Methods[M]["params"]): Promise<Methods[M]["result"]> {
    return (await this.#send(method, params)) as Methods[M]["result"];
  }

  #send(method: string, params: unknown, tools?: Record<string, Tool>): Promise<unknown> {
    if (this.#error) return Promise.reject(this.#error);
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, tools });
      this.#write({ id, method, params });
    });
  }

  #write(message: Message): void {
    this.#process.stdin!.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  }

  #fail(error: Error): void {
    this.#error ??= error;
    for (const waiting of this.#waiting.values()) waiting.reject(this.#error);
    this.#waiting.clear();
    for (const run of this.#runs.values()) run.end(this.#error);
  }

  #line(line: string): void {
    let message: Message;
    try {
      message = JSON.parse(line);
    } catch (e) {
      this.#fail(new DrawbarError(`drawbar sent what is not a message: ${e}`));
      this.#process.kill();
      return;
    }
    if (message.method === "run.event") {
      const { runId, event } = message.params as { runId: string; event: Event };
      this.#runs.get(runId)?.push(event);
      if (event.type === "finished") this.#runs.delete(runId);
    } else if (message.method === "tool.call") {
      void this.#tool(message.id!, message.params as ToolCallParams);
    } else if (message.method === undefined && message.id !== undefined) {
      this.#answer(message);
    }
  }

  #answer(message: Message): void {
    const waiting = this.#waiting.get(message.id!);
    if (!waiting) return;
    this.#waiting.delete(message.id!);
    if (message.error) {
      waiting.reject(new DrawbarError(message.error.message, message.error.data));
    } else if (waiting.tools) {
      const run = new Run(this, message.result as Started, waiting.tools);
      this.#runs.set(run.id, run); // its events may be in the next line
      waiting.resolve(run);
    } else {
      waiting.resolve(message.result);
    }
  }

  async #tool(id: number, params: ToolCallParams): Promise<void> {
    try {
      const tool = this.#runs.get(params.runId)?.tools[params.call.name];
      if (!tool) throw new Error(`there is no tool ${params.call.name}`);
      this.#write({ id, result: { output: (await tool(params.call.input)) ?? null } });
    } catch (e) {
      this.#write({ id, error: { code: -32000, message: String(e) } });
    }
  }
}
