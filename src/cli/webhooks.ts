import type { FailedWebhook, WebhookTries } from "../client/index.ts";
import { Webhooks } from "../client/index.ts";
import { type Connection, connectionOf, count, take, withConnection } from "./client.ts";
import type { Register } from "./register.ts";
import { type Looks, table } from "./table.ts";
import type { Terminal } from "./terminal.ts";

const examples = `
Examples:
  npx offload webhooks secret --tenant acme            print the secret that signs the tenant's webhooks
  npx offload webhooks secret --tenant acme --rotate   make a new one; the earlier one signs for 24 hours more
  npx offload webhooks list                            webhooks that were given up
  npx offload webhooks tries 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11
  npx offload webhooks redeliver 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11

Set OFFLOAD_URL and OFFLOAD_KEY instead of giving --url and --key each time. The key must have the role operator or admin.
`;

/** `offload webhooks secret|list|tries|redeliver` */
export const register: Register = (command, terminal) => {
  command.addHelpText("after", examples);
  const secret = command.command("secret").description("print the secret that signs webhooks");
  withConnection(secret.option("--rotate", "make a new secret first")).action(
    (options: Connection & { rotate?: boolean }) => showSecret(terminal, options),
  );
  const list = command.command("list").description("list webhooks that were given up, newest first");
  withConnection(list.option("--limit <n>", "maximum number of webhooks", count, 50)).action(
    (options: Connection & { limit: number }) => showFailed(terminal, options),
  );
  const tries = command.command("tries <task_id>").description("list the tries of a task's webhooks");
  withConnection(tries).action(async (taskId: string, options: Connection) => {
    const found = await webhooksOf(options).tries(taskId);
    terminal.out(options.json ? JSON.stringify(found, null, 2) : triesText(found, terminal, options));
  });
  const redeliver = command.command("redeliver <task_id>").description("send a task's webhook again");
  withConnection(redeliver).action(async (taskId: string, options: Connection) => {
    const sent = await webhooksOf(options).redeliver(taskId);
    if (options.json) return terminal.out(JSON.stringify(sent, null, 2));
    terminal.out(`The webhook ${sent.webhook_id} is sent again. Follow it with`);
    terminal.out(`  npx offload webhooks tries ${taskId}`);
  });
};

const webhooksOf = (options: Connection): Webhooks => new Webhooks(connectionOf(options));

async function showSecret(terminal: Terminal, options: Connection & { rotate?: boolean }): Promise<void> {
  const webhooks = webhooksOf(options);
  const found = await (options.rotate ? webhooks.rotateSecret() : webhooks.secret());
  if (options.json) return terminal.out(JSON.stringify(found, null, 2));
  terminal.out(found.secret);
  if (found.also_signing > 0) {
    terminal.note(
      `Webhooks are also signed with ${found.also_signing} earlier secret(s), until 24 hours after each rotation.`,
    );
  }
}

async function showFailed(terminal: Terminal, options: Connection & { limit: number }): Promise<void> {
  const { items, more } = await take(webhooksOf(options).failed(), options.limit);
  if (options.json) terminal.out(JSON.stringify({ deliveries: items, complete: !more }, null, 2));
  else terminal.out(items.length === 0 ? "No webhook was given up." : failedTable(items, terminal, options));
  if (more) terminal.note(`There are more than ${items.length}: raise --limit.`);
  if (items.length === 0) {
    terminal.note(
      "One that fails is tried for nine hours first: npx offload webhooks tries <task_id> shows its tries.",
    );
  }
}

function failedTable(failed: readonly FailedWebhook[], terminal: Terminal, looks: Looks): string {
  const rows = failed.map(({ task_id, type, last_try_at, tries, last_status, last_error, url }) => [
    task_id,
    type,
    last_try_at,
    tries,
    last_status ?? last_error,
    url,
  ]);
  return table(["task", "type", "last try", "tries", "answer", "url"], rows, terminal, looks);
}

function triesText({ state, next_try_at, deliveries }: WebhookTries, terminal: Terminal, looks: Looks): string {
  if (state === null) return "The task has no webhook that was tried.";
  const rows = deliveries.map(({ number, at, status, error, duration_ms, webhook_id }) => [
    number,
    at,
    status ?? error,
    duration_ms,
    webhook_id,
  ]);
  const next = next_try_at === null ? "" : `; next try at ${next_try_at}`;
  return `${table(["try", "at", "answer", "ms", "webhook"], rows, terminal, looks)}\nThe newest webhook is ${state}${next}.`;
}
