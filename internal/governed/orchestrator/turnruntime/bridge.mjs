// Runs the adapter's class of a module of the project for Drawbar: one JSON request per line of standard input, one
// JSON answer per line of standard output. Everything else that is printed goes to standard error.
import Module, { register } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const write = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);

// The names of the package agentxchain are types. They must exist for import, also where nothing erases types.
const names = ["Adapter", "DispatchBundle", "TurnResult"];
const source = names.map((n) => `export class ${n} {}`).join("\n");
const shim = "data:text/javascript," + encodeURIComponent(source);

function provideTypes() {
  const classes = Object.fromEntries(names.map((n) => [n, class {}]));
  const load = Module._load;
  Module._load = function (request, ...rest) {
    return request === "agentxchain" ? classes : load.call(this, request, ...rest);
  };
  if (Module.registerHooks) {
    Module.registerHooks({
      resolve: (specifier, context, next) =>
        specifier === "agentxchain" && !context.conditions?.includes("require")
          ? { url: shim, format: "module", shortCircuit: true }
          : next(specifier, context),
    });
    return;
  }
  if (!register) throw new Error(`Node ${process.versions.node} cannot run adapters: install Node 20.6 or later`);
  const hooks = `export async function resolve(specifier, context, next) {
    if (specifier === "agentxchain") return { url: ${JSON.stringify(shim)}, format: "module", shortCircuit: true };
    return next(specifier, context);
  }`;
  register("data:text/javascript," + encodeURIComponent(hooks));
}

const phases = ["dispatch", "wait", "collect"];
const isAdapter = (v) => v !== null && typeof v === "object" && phases.every((p) => typeof v[p] === "function");

// instance finds the adapter among what a module exports: a class, or a ready object. If there are several, the one
// with the declared name is used.
function instance(module, name, file) {
  const exported = new Set([...Object.values(module), ...Object.values(module.default ?? {})]);
  const found = [];
  for (const v of exported) {
    if (isAdapter(v)) found.push(v);
    if (typeof v === "function" && v.prototype && phases.every((p) => typeof v.prototype[p] === "function")) found.push(new v());
  }
  const chosen = found.find((a) => a.name === name) ?? (found.length === 1 ? found[0] : undefined);
  if (chosen) return chosen;
  const has = found.length ? `has ${found.length} adapters, none named ${name}` : "exports no class with the methods dispatch, wait and collect";
  throw new Error(`${file} ${has}`);
}

let adapter;
async function handle(method, p) {
  switch (method) {
    case "load":
      provideTypes();
      adapter = instance(await import(pathToFileURL(p.module).href), p.name, p.module);
      return null;
    case "dispatch":
      await adapter.dispatch(p.bundle);
      return null;
    case "wait":
      return adapter.wait(p.turn_id, p.timeout_ms);
    case "collect":
      return adapter.collect(p.turn_id, p.data);
  }
  throw new Error(`unknown method ${method}`);
}

const input = createInterface({ input: process.stdin, crlfDelay: Infinity });
input.on("line", async (line) => {
  const { id, method, params } = JSON.parse(line);
  let answer;
  try {
    answer = JSON.stringify({ id, result: (await handle(method, params)) ?? null });
  } catch (e) {
    const message = e instanceof Error ? `${e.name}: ${e.message}` : String(e);
    answer = JSON.stringify({ id, error: { message, stack: e?.stack } });
  }
  // The answer begins a line, even if something else that shares the stream left one unfinished.
  write("\n" + answer + "\n");
});
input.on("close", () => process.exit(0));
