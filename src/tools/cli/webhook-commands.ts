import { Webhooks, type WebhookTries } from "../../client/index.ts";
import { firstOf } from "./answer.ts";
import { type Connection, connection, connectionOf, limit } from "./connection.ts";
import type { Register } from "./group.ts";
import { type Screen, tableOf } from "./text-table.ts";

const examples = `
Examples:
  npx offload webhooks secret --tenant acme            print the secret that signs the tenant's webhooks
  npx offload webhooks secret --tenant acme --rotate   make a new one; the earlier one signs for 24 hours more
  npx offload webhooks list                            webhooks that were given up
  npx offload webhooks tries 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11
  npx offload webhooks redeliver 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11
`;

/** `offload webhooks secret|list|tries|redeliver` */
export const register: Register = (group) => {
  group.help(examples, "operator or admin");
  const rotate = ["--rotate", "make a new secret first"] as const;
  group.add("secret", "print the secret that signs webhooks", [rotate, ...connection], async (options) => {
    const webhooks = webhooksOf(options);
    const found = await (options.rotate ? webhooks.rotateSecret() : webhooks.secret());
    const { secret, also_signing: earlier } = found;
    const also = `Webhooks are also signed with ${earlier} earlier secret(s), until 24 hours after each rotation.`;
    return { json: found, text: secret, hint: earlier > 0 ? also : undefined };
  });
  const given = [limit("webhooks", 50), ...connection] as const;
  group.add("list", "list webhooks that were given up, newest first", given, async (options) => {
    const { items, ...list } = await firstOf(webhooksOf(options).failed(), options.limit, {
      json: "deliveries",
      none: noFailed,
      columns: {
        ...{ task: "task_id", type: "type", "last try": "last_try_at", tries: "tries" },
        answer: ({ last_status, last_error }) => last_status ?? last_error,
        url: "url",
      },
      withEnd: true,
    });
    return { ...list, note: items.length === 0 ? laterFailed : list.note };
  });
  const tries = "list the tries of a task's webhooks";
  group.add("tries", tries, [["<task_id>"], ...connection], async (options, taskId) => {
    const found = await webhooksOf(options).tries(taskId);
    return { json: found, text: (screen) => triesText(found, screen) };
  });
  group.add("redeliver", "send a task's webhook again", [["<task_id>"], ...connection], async (options, taskId) => {
    const sent = await webhooksOf(options).redeliver(taskId);
    const next = `  npx offload webhooks tries ${taskId}`;
    return { json: sent, text: `The webhook ${sent.webhook_id} is sent again. Follow it with\n${next}` };
  });
};

const webhooksOf = (options: Connection): Webhooks => new Webhooks(connectionOf(options));

const noFailed = "No webhook was given up.";
const laterFailed =
  "One that fails is tried for nine hours first: npx offload webhooks tries <task_id> shows its tries.";

function triesText({ state, next_try_at, deliveries }: WebhookTries, screen: Screen): string {
  if (state === null) return "The task has no webhook that was tried.";
  const table = tableOf(
    deliveries,
    {
      ...{ try: "number", at: "at" },
      answer: ({ status, error }) => status ?? error,
      ...{ ms: "duration_ms", webhook: "webhook_id" },
    },
    screen,
  );
  const next = next_try_at === null ? "" : `; next try at ${next_try_at}`;
  return `${table}\nThe newest webhook is ${state}${next}.`;
}
