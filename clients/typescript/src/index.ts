export { Drawbar, DrawbarError, Run } from "./client.ts";
export type { Options, RunOptions, Tool } from "./client.ts";
export * from "./types.ts";
