import { runService } from "../server.ts";
import { startMailbox } from "./mailbox.ts";

/* The service, and a mailbox that prints the mails. */
await startMailbox(1025, ({ to, subject, text }) => console.log(`Mail to ${to}: ${subject}\n  ${text}`));
await runService();
