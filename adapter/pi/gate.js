// Loaded by Drawbar for one run: asks before a tool runs. The answer is JSON: {"allow", "reason", "input"}.
const free = [];

export default function (pi) {
  pi.on("tool_call", async (event, ctx) => {
    if (free.includes(event.toolName)) return undefined;
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
  });
}
