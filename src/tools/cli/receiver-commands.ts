import { Receivers, type ReceiverView } from "../../client/index.ts";
import { firstOf, thing, things } from "./answer.ts";
import { type Connection, connection, connectionOf, count, limit } from "./connection.ts";
import type { Group, Register } from "./group.ts";
import { asGiven, type Options, valuesOf } from "./options.ts";

const examples = `
Examples:
  npx offload receivers create https://shop.example.com/hooks --event task.failed
  npx offload receivers list
  npx offload receivers test 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11
  npx offload receivers deliveries 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11 --status failed
  npx offload receivers replay 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11 --after 2027-01-01T00:00:00Z
  npx offload receivers change 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11 --enable
`;

const adding = <Text extends string>(text: string, before: Text[] = []): Text[] => [...before, text as Text];

const fields = [
  [
    "--event <name>",
    "task.completed, task.failed, task.cancelled or task.expired; may be repeated",
    adding<ReceiverView["events"][number]>,
  ],
  ["--type <name>", "only tasks of this type; may be repeated", adding<string>],
  ["--description <text>", "text that the list shows"],
] as const;

/** `offload receivers create|list|show|change|delete|test|rotate|deliveries|replay` */
export const register: Register = (group) => {
  group.help(examples, "operator or admin");
  addCreate(group);
  addList(group);
  addChange(group);
  addDeliveries(group);
  addOthers(group);
};

const clientOf = (options: Connection): Receivers => new Receivers(connectionOf(options));

const ofOne = [["<webhook_id>", "id of the receiver"], ...connection] as const;

const fieldsOf = ({ event, type, description }: Options<typeof fields>) => ({
  events: event,
  types: type,
  description,
});

function addCreate(group: Group): void {
  const all = [["<receiver_url>"], ...fields, ...connection] as const;
  group.add("create", "create a receiver and print its secret", all, async (options, url) => {
    const made = await clientOf(options).create({ url, ...fieldsOf(options) });
    const hint = `Receiver ${made.webhook_id}. This secret signs its webhooks, and cannot be shown again.`;
    return { json: made, text: made.secret, hint };
  });
}

function addList(group: Group): void {
  group.add("list", "list receivers, oldest first", connection, async (options) =>
    things({ webhooks: await clientOf(options).list() }, "No receivers.", {
      ...{ receiver: "webhook_id", url: "url" },
      events: ({ events }) => (events.length === 4 ? "all" : events.join(", ")),
      types: ({ types }) => types?.join(", ") ?? "all",
      health: ({ enabled, health }) => (enabled || health === "disabled" ? health : "switched off"),
      "failing since": "failing_since",
    }),
  );
}

const changes = [
  ["--to <url>", "its new URL"],
  ["--all-types", "tasks of all types"],
  ["--enable", "send it webhooks again, and forget its failures"],
  ["--disable", "send it no webhooks"],
] as const;

function addChange(group: Group): void {
  const about = "change a receiver: its URL, what it asks for, whether it gets webhooks";
  group.add("change", about, [...ofOne, ...fields, ...changes], async (options, webhookId) => {
    const { to: url, allTypes, enable, disable } = options;
    const { types, ...others } = fieldsOf(options);
    const enabled = enable ? true : disable ? false : undefined;
    return thing(
      await clientOf(options).change(webhookId, { url, ...others, types: allTypes ? null : types, enabled }),
    );
  });
}

const range = [
  ["--after <time>", "only those that began at or after this time (ISO 8601)"],
  ["--before <time>", "only those that began before this time (ISO 8601)"],
] as const;

function addDeliveries(group: Group): void {
  const selection = [...range, ["--status <status>", "pending, delivered or failed", asGiven<"failed">]] as const;
  const all = [...ofOne, ...selection, limit("deliveries", 50)] as const;
  group.add("deliveries", "list the deliveries of a receiver, newest first", all, async (options, webhookId) =>
    firstOf(clientOf(options).deliveries(webhookId, valuesOf(selection, options)), options.limit, {
      json: "deliveries",
      none: "No deliveries.",
      columns: {
        ...{ began: "created_at", event: "event", task: ({ task_id }) => task_id ?? "test", status: "status" },
        tries: ({ tries }) => tries.length,
        answer: ({ tries }) => tries.at(-1)?.status ?? tries.at(-1)?.error,
        "its text": ({ tries }) => tries.at(-1)?.answer,
      },
    }),
  );
  const repeated = [
    ...range,
    ["--status <status>", "failed, or delivered; default: failed", asGiven<"failed">],
    ["--per-second <n>", "most webhooks a second, 1 to 100", count],
  ] as const;
  const replays = "deliver again what was given up, in an operation";
  group.add("replay", replays, [...ofOne, ...repeated], async (options, webhookId) => {
    const started = await clientOf(options).replay(webhookId, valuesOf(repeated, options));
    const text = `${started.matched} webhooks are delivered again by the operation ${started.operation_id}.`;
    return { json: started, text };
  });
}

function addOthers(group: Group): void {
  group.add("show", "show a receiver", ofOne, async (options, id) => thing(await clientOf(options).get(id)));
  group.add("delete", "delete a receiver", ofOne, async (options, id) => {
    await clientOf(options).delete(id);
    return { text: "Deleted." };
  });
  group.add("test", "send a webhook of the type webhook.test", ofOne, async (options, id) => {
    const sent = await clientOf(options).test(id);
    const next = `  npx offload receivers deliveries ${id}`;
    return { json: sent, text: `The webhook ${sent.delivery_id} is sent. Follow it with\n${next}` };
  });
  group.add("rotate", "make a new secret; the earlier one signs for 24 hours more", ofOne, async (options, id) => {
    const made = await clientOf(options).rotateSecret(id);
    return { json: made, text: made.secret };
  });
}
