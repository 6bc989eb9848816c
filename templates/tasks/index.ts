/* The task types, for typed clients: `createClient<typeof tasks>()`. Add a line for each type. */
export { default as linkCheck } from "./link.check.ts";
