// Written by drawbar hooks install; removed by drawbar hooks uninstall.
// It calls a command at one event of OpenCode. Before a tool call and a prompt, a command that fails denies it. Drawbar also loads it
// for one run, with a command that is called when it is loaded.
import { spawn, spawnSync } from "node:child_process";

const event = "";
const command = "";
const start = "";
const patience = 600_000; // ms

const children = new Set(); // sessions of sub-agents

export const DrawbarHook = async ({ client, directory }) => {
  const options = { shell: true, cwd: directory, windowsHide: true, timeout: patience };
  const payload = (session, fields) => JSON.stringify({ session_id: session, cwd: directory, ...fields });

  // ask returns what the command printed.
  const ask = (session, fields) =>
    new Promise((resolve, reject) => {
      const child = spawn(command, options);
      let answer = "";
      let why = "";
      child.stdout.setEncoding("utf8").on("data", (text) => (answer += text));
      child.stderr.setEncoding("utf8").on("data", (text) => (why += text));
      child.stdin.on("error", () => {}); // the command need not read its input
      child.on("error", reject);
      child.on("close", (code) => {
        if (code === 0) resolve(answer.trim());
        else reject(new Error(why.trim() || "denied by a hook"));
      });
      child.stdin.end(payload(session, fields));
    });

  // serverOf returns the MCP server whose tool this is; OpenCode names it server_tool.
  const serverOf = async (tool) => {
    if (!start || !tool.includes("_")) return undefined;
    const { data } = await client.mcp.status();
    const names = Object.keys(data).filter((name) => tool.startsWith(name.replace(/[^a-zA-Z0-9_-]/g, "_") + "_"));
    return names.sort((a, b) => b.length - a.length)[0];
  };

  if (start) spawnSync(start, { ...options, input: "{}", stdio: ["pipe", "ignore", "ignore"] });
  switch (event) {
    case "tool.execute.before":
      return {
        [event]: async ({ tool, sessionID, callID }, output) => {
          const server = await serverOf(tool);
          const answer = await ask(sessionID, { tool_name: tool, tool_call_id: callID, tool_input: output.args, mcp_server: server });
          if (!answer) return;
          const { args } = JSON.parse(answer);
          for (const name of Object.keys(output.args)) delete output.args[name]; // OpenCode continues with this object
          Object.assign(output.args, args);
        },
      };
    case "tool.execute.after":
      return {
        [event]: async ({ tool, sessionID, callID, args }, { output }) => {
          const call = { tool_name: tool, tool_call_id: callID, tool_input: args, tool_response: output };
          await ask(sessionID, call).catch(() => {});
        },
      };
    case "chat.message":
      return {
        [event]: async ({ sessionID }, { parts }) => {
          const texts = parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text);
          await ask(sessionID, { prompt: texts.join("\n") });
        },
      };
  }
  return {
    event: async ({ event: { type, properties: p } }) => {
      if (type === "session.created" && p.info.parentID) children.add(p.info.id);
      if (type !== event || children.has(p.sessionID)) return;
      const fields = { message: p.error?.data?.message, properties: p };
      // OpenCode does not wait, and may exit after an event.
      spawnSync(command, { ...options, input: payload(p.sessionID, fields), stdio: ["pipe", "ignore", "ignore"] });
    },
  };
};
