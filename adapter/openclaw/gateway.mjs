// Loaded by Drawbar before OpenClaw's bridge: starts a gateway for the run where the user has none, ends it with the run, and
// states on standard error the model and why a turn failed, which the bridge leaves out.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, realpathSync, writeFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { connect, createServer } from "node:net";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";

const own = "drawbar-openclaw.json"; // the settings of a run's gateway
const env = process.env;
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const say = (fields) => writeSync(2, "drawbar:" + JSON.stringify(fields) + "\n");
const sleep = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

// The codes of what is refused.
const cannot = -32090;
const broken = -32091;
const unknown = -32092;

// refuse answers the first request with an error, in place of the bridge.
async function refuse(code, message) {
  let text = "";
  for await (const chunk of process.stdin) {
    text += chunk;
    if (text.includes("\n")) break;
  }
  const { id } = JSON.parse(text.split("\n")[0] || "{}");
  writeSync(1, JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } }) + "\n");
  process.exit(1);
}

function json5(path) {
  const text = readFileSync(path, "utf8");
  try {
    return createRequire(realpathSync(process.argv[1]))("json5").parse(text);
  } catch {
    return JSON.parse(text);
  }
}

// runs reports whether a process runs. One that was killed stays for a moment, as a zombie; where there is no /proc, it runs until then.
function runs(pid) {
  try {
    process.kill(pid, 0);
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch (e) {
    return e.code === "EPERM" || (e.code === "ENOENT" && process.platform !== "linux");
  }
}

// running returns the lock of the gateway that owns the state, if one runs.
function running(state) {
  const locks = join(state, "tmp");
  for (const dir of existsSync(locks) ? readdirSync(locks) : []) {
    const file = join(locks, dir, "gateway.state.lock");
    try {
      const lock = JSON.parse(readFileSync(file, "utf8"));
      if (runs(lock.pid)) return { ...lock, file };
    } catch {} // it has just ended
  }
}

// knows reports whether the database has one of the keys of a session. One that cannot be read leaves it to the gateway.
function knows(state, keys) {
  const file = join(state, "agents", "main", "agent", "openclaw-agent.sqlite");
  if (!existsSync(file)) return false;
  try {
    const db = new (createRequire(import.meta.url)("node:sqlite").DatabaseSync)(file, { readOnly: true });
    try {
      return keys.some((key) => db.prepare("SELECT 1 FROM session_nodes WHERE session_key = ?").get(key));
    } finally {
      db.close();
    }
  } catch {
    return true;
  }
}

const freePort = () =>
  new Promise((done, failed) => {
    const s = createServer().on("error", failed);
    s.listen(0, "127.0.0.1", () => {
      const { port } = s.address();
      s.close(() => done(port));
    });
  });

const listens = (port) =>
  new Promise((done) => {
    const s = connect(port, "127.0.0.1", () => done(true));
    s.on("error", () => done(false)).on("close", () => s.destroy());
    s.unref();
  });

const taken = (state) => "the gateway of another run has " + state + "; a gateway for all runs: openclaw gateway run";

async function start(plan, state, config) {
  const port = await freePort();
  const token = crypto.randomUUID();
  const settings = { ...(existsSync(config) && { $include: config }), ...plan.settings };
  settings.agents.defaults.cwd = process.cwd();
  settings.gateway = { mode: "local", bind: "loopback", port, auth: { mode: "token", token }, tailscale: { mode: "off" } };
  writeFileSync(here(own), JSON.stringify(settings), { mode: 0o600 });
  Object.assign(env, {
    OPENCLAW_CONFIG_PATH: here(own), OPENCLAW_STATE_DIR: state, OPENCLAW_GATEWAY_PORT: String(port),
    OPENCLAW_INCLUDE_ROOTS: [dirname(config), env.OPENCLAW_INCLUDE_ROOTS].filter(Boolean).join(process.platform === "win32" ? ";" : ":"),
    OPENCLAW_SKIP_CHANNELS: "1", OPENCLAW_DISABLE_BONJOUR: "1", OPENCLAW_NO_AUTO_UPDATE: "1", OPENCLAW_NO_RESPAWN: "1",
  });
  delete env.OPENCLAW_GATEWAY_TOKEN;
  delete env.OPENCLAW_GATEWAY_PASSWORD;
  let last = "";
  let started = false;
  let ended = false;
  const gateway = spawn(process.execPath, [process.argv[1], "gateway", "run"], { stdio: ["ignore", "pipe", "pipe"], windowsHide: true });
  let revives = false;
  for (const stream of [gateway.stdout, gateway.stderr])
    stream.on("data", (text) => {
      last = (last + text).slice(-4000);
      if (!revives && (revives = /marked \d+ startup-orphaned main session/.test(last)))
        say({ notice: "goes on with a turn of another session that was killed, as each of its gateways does: what that does and uses is not of this run" });
    });
  gateway.on("error", (e) => ((last = e.message), (ended = true))).on("close", () => {
    if (!ended && started) process.stderr.write(last); // else nobody needs what it tells while it works
    ended = true;
  });
  process.on("exit", () => {
    const lock = running(state);
    gateway.kill();
    for (let i = 0; i < 100 && lock?.pid === gateway.pid && existsSync(lock.file); i++) sleep(50); // it closes its databases
  });
  while (!(await listens(port))) {
    if (ended) {
      if (last.includes("another OpenClaw process owns")) await refuse(cannot, taken(state)); // which started at the same time
      const lines = last.trim().split("\n");
      await refuse(broken, "its gateway does not start: " + (lines.findLast((line) => line.includes("failed to start")) ?? lines.pop()));
    }
    await new Promise((done) => setTimeout(done, 100));
  }
  started = true;
  gateway.unref();
  gateway.stdout.unref();
  gateway.stderr.unref();
}

// watch states why a turn failed, and the model of the session: the gateway says both to the bridge.
function watch() {
  const parse = JSON.parse;
  let failed; // the run whose failure was stated; it is said again with more words
  let session; // the key of the run's own
  let model;
  JSON.parse = (text, reviver) => {
    const frame = parse(text, reviver);
    const chat = frame?.type === "event" && frame.event === "chat" ? frame.payload : undefined;
    if (chat?.sessionKey) session = chat.sessionKey;
    if (chat?.state === "error" && chat.runId !== failed) {
      failed = chat.runId;
      say({ failed: String(chat.errorMessage || "the turn failed").slice(0, 2000) });
    }
    const rows = frame?.type === "res" ? frame.payload?.sessions : undefined;
    const row = session && Array.isArray(rows) ? rows.find(({ key }) => key === session) : undefined;
    const used = row?.model && [row.modelProvider, row.model].filter(Boolean).join("/");
    if (used && used !== model) say({ model: (model = used) });
    return frame;
  };
}

if (isMainThread) {
  const plan = JSON.parse(readFileSync(here("plan.json"), "utf8"));
  if (plan.nodeOptions) env.NODE_OPTIONS = plan.nodeOptions;
  else delete env.NODE_OPTIONS;
  const home = env.OPENCLAW_HOME || homedir();
  const state = resolve((env.OPENCLAW_STATE_DIR || join(home, ".openclaw")).replace(/^~(?=$|[\\/])/, home));
  const config = resolve(env.OPENCLAW_CONFIG_PATH || join(state, "openclaw.json"));
  let user;
  try {
    user = json5(config);
  } catch {} // the gateway says what is wrong
  const given = plan.given || user?.gateway?.mode === "remote";
  const lock = given ? undefined : running(state);
  if (lock?.configPath && basename(lock.configPath) === own) await refuse(cannot, taken(state));
  const elsewhere = plan.keys?.[0].startsWith("agent:") && !plan.keys[0].startsWith("agent:main:"); // another agent's database
  if (!given && plan.keys && !elsewhere && !knows(state, plan.keys)) await refuse(unknown, "there is no session " + plan.session);
  if (!given && !lock) await start(plan, state, config);
  else if (plan.needs) await refuse(cannot, "a gateway that is not the run's own takes no " + plan.needs + " from it");
  else if (lock?.port) env.OPENCLAW_GATEWAY_PORT = String(lock.port);
  watch();
}
