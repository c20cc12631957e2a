// Loaded by Drawbar for one run: attaches its MCP servers, and asks before a tool runs. The answer is JSON: {"allow", "reason", "input"}.
const run = {};

export default function (pi) {
  if (run.asks) pi.on("tool_call", (event, ctx) => (run.free?.includes(event.toolName) ? undefined : ask(event, ctx)));
  try {
    for (const [name, server] of Object.entries(run.mcpServers ?? {})) pi.registerMcpServer(name, { ...server, exposure: "direct", timeout: 86400 });
  } catch (error) {
    const fault = pi.registerMcpServer ? String(error.message) : "";
    pi.on("session_start", (_event, ctx) => ctx.ui.notify("drawbar:mcp " + fault, "error"));
  }
}

async function ask(event, ctx) {
  const question = JSON.stringify({ id: event.toolCallId, tool: event.toolName, input: event.input });
  let answer;
  try {
    answer = JSON.parse(await ctx.ui.input("drawbar:tool", question));
  } catch {
    answer = undefined;
  }
  if (answer?.allow !== true) return { block: true, reason: answer?.reason || "the call was refused" };
  if (answer.input) {
    for (const key of Object.keys(event.input)) delete event.input[key];
    Object.assign(event.input, answer.input);
  }
  return undefined;
}
