// Loaded by Drawbar for one run: states on standard error what OpenCode leaves out of the protocol: what each model call used,
// why it failed, and that it is tried again. It takes back what settings allow without a question, if the run asks. It refuses what a sub-agent asks, because the protocol's client never hears of it and the
// run would never end.
//
// OpenCode installs the types of plugins before it loads one. That must not take minutes where there is no network, so Drawbar sets
// limits for npm, which the commands of the run do not inherit.
import { writeSync } from "node:fs";

const limits = [];
const asks = undefined; // rules of a run that asks, before those of the settings
const most = 2000; // characters of a message
const say = (fields) => writeSync(2, "drawbar:" + JSON.stringify(fields, (_, v) => (typeof v === "string" ? v.slice(0, most) : v)) + "\n");

const began = Date.now();
const copied = new Set(); // messages that a fork repeats
const children = new Set(); // sessions of sub-agents

// narrowed returns what rules of the settings do not allow: OpenCode goes by the last rule that fits.
function narrowed(rules) {
  if (typeof rules === "string") return rules === "allow" ? {} : { "*": rules };
  const kept = Object.entries(rules ?? {}).map(([name, rule]) => [name, typeof rule === "object" ? narrowed(rule) : rule]);
  return Object.fromEntries(kept.filter(([, rule]) => rule !== "allow" && (typeof rule !== "object" || Object.keys(rule).length > 0)));
}

export const Drawbar = async ({ client }) => {
  say({});
  return {
    config: async (config) => {
      if (!asks) return;
      config.permission = { ...asks, ...narrowed(config.permission) };
      for (const agent of Object.values(config.agent ?? {})) if (agent?.permission) agent.permission = narrowed(agent.permission);
    },
    "tool.execute.before": async () => limits.forEach((name) => delete process.env[name]),
    event: async ({ event: { type, properties: p } }) => {
      if (type === "message.updated") {
        if (p.info.time.created < began) copied.add(p.info.id);
      } else if (type === "session.created" && p.info.parentID) {
        children.add(p.info.id);
      } else if (type === "permission.asked" && children.has(p.sessionID)) {
        say({ session: p.sessionID, refused: p.permission });
        await client.postSessionIdPermissionsPermissionId({ path: { id: p.sessionID, permissionID: p.id }, body: { response: "reject" } });
      } else if (type === "message.part.updated" && p.part.type === "step-finish" && !copied.has(p.part.messageID)) {
        say({ session: p.part.sessionID, ended: true, tokens: p.part.tokens, cost: p.part.cost });
      } else if (type === "session.status" && p.status.type === "retry") {
        say({ session: p.sessionID, retry: p.status.message || "the model call failed" });
      } else if (type === "session.error") {
        const { name, data } = p.error ?? {};
        if (name === "MessageAbortedError") say({ session: p.sessionID, lost: true }); // the turn was interrupted
        else say({ session: p.sessionID, failed: data?.message || name || "the model call failed", error: name, status: data?.statusCode });
      }
    },
  };
};
