/* The task types, for typed clients: `createClient<typeof tasks>()`. */
export { default as invoiceSend } from "./invoice.send.ts";
