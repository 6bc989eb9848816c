import type { QueueView } from "../operations/views.ts";
import { type Connection, clientOf, withConnection } from "./client.ts";
import type { Register } from "./register.ts";
import { table } from "./table.ts";

const examples = `
The counts come from SQS; they are approximate and slightly delayed. The age of the oldest message comes from CloudWatch, some
minutes late; "-" means that CloudWatch has no value yet.

Example:
  npx offload queues --key dev-admin
`;

/** A tier's state in a word or two. */
export const tierState = ({ paused, refusing_since: since }: QueueView): string =>
  [paused ? "paused" : "", since == null ? "" : `refuses since ${since}`].filter(Boolean).join(", ") || "open";

/** `offload queues` */
export const register: Register = (command, terminal) => {
  withConnection(command)
    .addHelpText("after", examples)
    .action(async (options: Connection) => {
      const queues = await clientOf(options).queues();
      if (options.json) return terminal.out(JSON.stringify({ queues }, null, 2));
      const rows = Object.entries(queues).map(([tier, queue]) => [
        tier,
        queue.visible,
        queue.in_flight,
        queue.delayed,
        queue.oldest_age_seconds,
        queue.retrying,
        queue.dead_letters,
        tierState(queue),
      ]);
      const headings = ["tier", "visible", "in flight", "delayed", "oldest (s)", "retrying", "dead letters", "state"];
      terminal.out(table(headings, rows, terminal));
    });
};
