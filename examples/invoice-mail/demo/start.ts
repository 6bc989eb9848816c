import { send } from "../send.ts";
import { startMailbox } from "./mailbox.ts";

/* A mail server that prints its mails, and the invoices of three orders. */
const { OFFLOAD_URL: url = "", OFFLOAD_KEY: key = "" } = process.env;
await startMailbox(1025, ({ to, subject, attachments }) => {
  const [file] = attachments;
  console.log(`Mail to ${[to ?? []].flat()[0]?.text}: ${subject}, ${file?.filename} with ${file?.size} bytes`);
  return undefined;
});
const ids = await send("orders.ndjson", { url, key });
console.log(`${ids.length} invoices accepted`);
