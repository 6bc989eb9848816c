import type { QueueView } from "../../api/acts/views.ts";
import { clientOf, connection } from "./connection.ts";
import type { Register } from "./group.ts";
import { type Columns, tableOf } from "./text-table.ts";

const examples = `
The counts come from SQS; they are approximate and slightly delayed. The age of the oldest message comes from CloudWatch, some
minutes late; "-" means that CloudWatch has no value yet.

Example:
  npx offload queues --key dev-admin
`;

/** A tier's state in a word or two. */
export const tierState = ({ paused, refusing_since: since }: QueueView): string =>
  [paused ? "paused" : "", since == null ? "" : `refuses since ${since}`].filter(Boolean).join(", ") || "open";

export type QueueRow = QueueView & { tier: string };

export const rowsOf = (queues: Readonly<Record<string, QueueView>>): QueueRow[] =>
  Object.entries(queues).map(([tier, queue]) => ({ tier, ...queue }));

const columns: Columns<QueueRow> = {
  ...{ tier: "tier", visible: "visible", "in flight": "in_flight", delayed: "delayed" },
  ...{ "oldest (s)": "oldest_age_seconds", retrying: "retrying", "dead letters": "dead_letters", state: tierState },
};

/** `offload queues` */
export const register: Register = (group) => {
  group.help(examples).does(connection, async (options) => {
    const queues = await clientOf(options).queues();
    return { json: { queues }, text: (screen) => tableOf(rowsOf(queues), columns, screen) };
  });
};
