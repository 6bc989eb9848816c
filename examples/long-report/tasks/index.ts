/* The task types, for typed clients: `createClient<typeof tasks>()`. */
export { default as reportMake } from "./report.make.ts";
