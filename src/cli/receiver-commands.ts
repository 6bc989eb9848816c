import type { Command } from "commander";
import type { ReceiverDelivery, ReceiverView } from "../client/index.ts";
import { Receivers } from "../client/index.ts";
import { type Connection, connectionOf, count, take, withConnection } from "./client.ts";
import type { Register } from "./register.ts";
import { describe, type Looks, table } from "./table.ts";
import type { Terminal } from "./terminal.ts";

const examples = `
Examples:
  npx offload receivers create https://shop.example.com/hooks --event task.failed
  npx offload receivers list
  npx offload receivers test 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11
  npx offload receivers deliveries 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11 --status failed
  npx offload receivers replay 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11 --after 2027-01-01T00:00:00Z
  npx offload receivers change 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11 --enable

Set OFFLOAD_URL and OFFLOAD_KEY instead of giving --url and --key each time. The key must have the role operator or admin.
`;

interface Fields {
  event?: ReceiverView["events"];
  type?: string[];
  description?: string;
}

type ChangeOptions = Connection & Fields & { to?: string; allTypes?: boolean; enable?: boolean; disable?: boolean };

interface RangeOptions extends Connection {
  after?: string;
  before?: string;
}

const adding = (text: string, before: string[] = []): string[] => [...before, text];

/** `offload receivers create|list|show|change|delete|test|rotate|deliveries|replay` */
export const register: Register = (command, terminal) => {
  command.addHelpText("after", examples);
  addCreate(command, terminal);
  addList(command, terminal);
  addChange(command, terminal);
  addDeliveries(command, terminal);
  addReplay(command, terminal);
  addOthers(command, terminal);
};

const clientOf = (options: Connection): Receivers => new Receivers(connectionOf(options));

const ofOne = (command: Command, name: string, description: string): Command =>
  withConnection(command.command(name).argument("<webhook_id>", "id of the receiver").description(description));

const withFields = (command: Command): Command =>
  command
    .option("--event <name>", "task.completed, task.failed, task.cancelled or task.expired; may be repeated", adding)
    .option("--type <name>", "only tasks of this type; may be repeated", adding)
    .option("--description <text>", "text that the list shows");

const fieldsOf = ({ event, type, description }: Fields) => ({ events: event, types: type, description });

function addCreate(command: Command, terminal: Terminal): void {
  const create = command.command("create <receiver_url>").description("create a receiver and print its secret");
  withConnection(withFields(create)).action(async (url: string, options: Connection & Fields) => {
    const made = await clientOf(options).create({ url, ...fieldsOf(options) });
    if (options.json) return terminal.out(JSON.stringify(made, null, 2));
    terminal.out(made.secret);
    terminal.note(`Receiver ${made.webhook_id}. This secret signs its webhooks, and cannot be shown again.`);
  });
}

function addList(command: Command, terminal: Terminal): void {
  withConnection(command.command("list").description("list receivers, oldest first")).action(
    async (options: Connection) => {
      const found = await clientOf(options).list();
      if (options.json) return terminal.out(JSON.stringify({ webhooks: found }, null, 2));
      terminal.out(found.length === 0 ? "No receivers." : receiversTable(found, terminal, options));
    },
  );
}

function receiversTable(receivers: readonly ReceiverView[], terminal: Terminal, looks: Looks): string {
  const rows = receivers.map(({ webhook_id, url, events, types, enabled, health, failing_since }) => [
    webhook_id,
    url,
    events.length === 4 ? "all" : events.join(", "),
    types?.join(", ") ?? "all",
    enabled ? health : health === "disabled" ? health : "switched off",
    failing_since,
  ]);
  return table(["receiver", "url", "events", "types", "health", "failing since"], rows, terminal, looks);
}

function addChange(command: Command, terminal: Terminal): void {
  const change = ofOne(command, "change", "change a receiver: its URL, what it asks for, whether it gets webhooks");
  withFields(change)
    .option("--to <url>", "its new URL")
    .option("--all-types", "tasks of all types")
    .option("--enable", "send it webhooks again, and forget its failures")
    .option("--disable", "send it no webhooks")
    .action(async (webhookId: string, options: ChangeOptions) => {
      const { to: url, allTypes, enable, disable } = options;
      const { types, ...fields } = fieldsOf(options);
      const changed = await clientOf(options).change(webhookId, {
        ...{ url, ...fields },
        types: allTypes ? null : types,
        enabled: enable ? true : disable ? false : undefined,
      });
      terminal.out(options.json ? JSON.stringify(changed, null, 2) : describe(changed, terminal, options));
    });
}

const withRange = (command: Command): Command =>
  command
    .option("--after <time>", "only those that began at or after this time (ISO 8601)")
    .option("--before <time>", "only those that began before this time (ISO 8601)");

function addDeliveries(command: Command, terminal: Terminal): void {
  const list = ofOne(command, "deliveries", "list the deliveries of a receiver, newest first");
  withRange(list)
    .option("--status <status>", "pending, delivered or failed")
    .option("--limit <n>", "maximum number of deliveries", count, 50)
    .action(async (webhookId: string, options: RangeOptions & { status?: "failed"; limit: number }) => {
      const { after, before, status, limit } = options;
      const { items, more } = await take(clientOf(options).deliveries(webhookId, { after, before, status }), limit);
      if (options.json) terminal.out(JSON.stringify({ deliveries: items }, null, 2));
      else terminal.out(items.length === 0 ? "No deliveries." : deliveriesTable(items, terminal, options));
      if (more) terminal.note(`There are more than ${items.length}: raise --limit.`);
    });
}

function deliveriesTable(deliveries: readonly ReceiverDelivery[], terminal: Terminal, looks: Looks): string {
  const rows = deliveries.map(({ created_at, event, task_id, status, tries }) => {
    const last = tries.at(-1);
    return [created_at, event, task_id ?? "test", status, tries.length, last?.status ?? last?.error, last?.answer];
  });
  return table(["began", "event", "task", "status", "tries", "answer", "its text"], rows, terminal, looks);
}

function addReplay(command: Command, terminal: Terminal): void {
  const replay = ofOne(command, "replay", "deliver again what was given up, in an operation");
  withRange(replay)
    .option("--status <status>", "failed, or delivered; default: failed")
    .option("--per-second <n>", "most webhooks a second, 1 to 100", count)
    .action(async (webhookId: string, options: RangeOptions & { status?: "failed"; perSecond?: number }) => {
      const { after, before, status, perSecond } = options;
      const started = await clientOf(options).replay(webhookId, { after, before, status, perSecond });
      if (options.json) return terminal.out(JSON.stringify(started, null, 2));
      terminal.out(`${started.matched} webhooks are delivered again by the operation ${started.operation_id}.`);
    });
}

function addOthers(command: Command, terminal: Terminal): void {
  ofOne(command, "show", "show a receiver").action(async (webhookId: string, options: Connection) => {
    const found = await clientOf(options).get(webhookId);
    terminal.out(options.json ? JSON.stringify(found, null, 2) : describe(found, terminal, options));
  });
  ofOne(command, "delete", "delete a receiver").action(async (webhookId: string, options: Connection) => {
    await clientOf(options).delete(webhookId);
    if (!options.json) terminal.out("Deleted.");
  });
  ofOne(command, "test", "send a webhook of the type webhook.test").action(
    async (webhookId: string, options: Connection) => {
      const sent = await clientOf(options).test(webhookId);
      if (options.json) return terminal.out(JSON.stringify(sent, null, 2));
      terminal.out(`The webhook ${sent.delivery_id} is sent. Follow it with`);
      terminal.out(`  npx offload receivers deliveries ${webhookId}`);
    },
  );
  ofOne(command, "rotate", "make a new secret; the earlier one signs for 24 hours more").action(
    async (webhookId: string, options: Connection) => {
      const made = await clientOf(options).rotateSecret(webhookId);
      terminal.out(options.json ? JSON.stringify(made, null, 2) : made.secret);
    },
  );
}
