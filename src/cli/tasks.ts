import type { Command } from "commander";
import type { AttemptView, Client, TaskFilter, TaskView } from "../client/index.ts";
import { type Connection, clientOf, count, take, withConnection } from "./client.ts";
import type { Register } from "./register.ts";
import { fields, table } from "./table.ts";
import { type Terminal, UsageError } from "./terminal.ts";

interface ListOptions extends Connection, Pick<TaskFilter, "status" | "type" | "priority"> {
  tag: Record<string, string>;
  createdAfter?: string;
  createdBefore?: string;
  limit: number;
}

const examples = `
Examples:
  npx offload tasks list --status failed --type mail.send
  npx offload tasks list --tag order=4711 --json
  npx offload tasks get 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11
  npx offload tasks attempts 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11
  npx offload tasks retry 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11

Set OFFLOAD_URL and OFFLOAD_KEY instead of giving --url and --key each time.
`;

/** `offload tasks list|get|attempts|retry|cancel` */
export const register: Register = (command, terminal) => {
  command.addHelpText("after", examples);
  addList(command, terminal);
  const one = (
    name: string,
    description: string,
    show: (client: Client, taskId: string, json?: boolean) => Promise<void>,
  ) =>
    withConnection(command.command(`${name} <task_id>`).description(description)).action(
      (taskId: string, options: Connection) => show(clientOf(options), taskId, options.json),
    );
  const print = (task: TaskView, json?: boolean) => terminal.out(json ? JSON.stringify(task, null, 2) : describe(task));
  one("get", "show a task", async (client, id, json) => print(await client.status(id), json));
  one("attempts", "show every attempt of a task, oldest first", async (client, id, json) => {
    const attempts = await client.attempts(id);
    terminal.out(json ? JSON.stringify({ attempts }, null, 2) : attemptsTable(attempts));
  });
  one("retry", "retry a failed task with a new round of attempts", async (client, id, json) => {
    print(await client.retry(id), json);
  });
  one("cancel", "cancel a task that has not ended", async (client, id, json) => {
    print(await client.cancel(id), json);
  });
};

function addList(command: Command, terminal: Terminal): void {
  const list = command
    .command("list")
    .description("list tasks, newest first")
    .option(
      "--status <status>",
      "only this status: scheduled, pending, processing, completed, failed, cancelled or expired",
    )
    .option("--type <type>", "only tasks of this type")
    .option("--priority <tier>", "only this tier: critical, high, normal or low")
    .option("--tag <name=value>", "only tasks with this tag; repeatable", addTag, {})
    .option("--created-after <time>", "created at or after this time (ISO 8601)")
    .option("--created-before <time>", "created before this time (ISO 8601)")
    .option("--limit <n>", "maximum number of tasks", count, 50);
  withConnection(list).action(async (options: ListOptions) => {
    const { status, type, priority, tag: tags, createdAfter, createdBefore, limit } = options;
    const list = clientOf(options).list({ status, type, priority, tags, createdAfter, createdBefore });
    const { items, more } = await take(list, limit);
    if (options.json) terminal.out(JSON.stringify({ tasks: items }, null, 2));
    else terminal.out(items.length === 0 ? "No tasks." : tasksTable(items));
    if (more) terminal.note(`There are more than ${items.length}: raise --limit or add filters.`);
  });
}

/** Parses `--tag name=value`, which is repeatable. */
export function addTag(text: string, earlier: Record<string, string>): Record<string, string> {
  const at = text.indexOf("=");
  if (at < 1) throw new UsageError(`--tag: expected name=value, got ${JSON.stringify(text)}`);
  return { ...earlier, [text.slice(0, at)]: text.slice(at + 1) };
}

function tasksTable(tasks: readonly TaskView[]): string {
  const rows = tasks.map((task) => [
    task.task_id,
    task.type,
    task.status,
    task.priority,
    `${task.attempts}/${task.max_attempts}`,
    task.created_at,
    task.error,
  ]);
  return table(["task", "type", "status", "tier", "attempts", "created", "error"], rows);
}

/** Formats the fields of an API object that are not null and not empty. */
export function describe(thing: object): string {
  const said = Object.entries(thing).filter(([, value]) => value !== null && !isEmpty(value));
  return fields(said.map(([name, value]) => [name, typeof value === "object" ? JSON.stringify(value) : value]));
}

const isEmpty = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0;

export function attemptsTable(attempts: readonly AttemptView[]): string {
  if (attempts.length === 0) return "No attempt has ended.";
  const rows = attempts.map((attempt) => [
    attempt.round,
    attempt.number,
    attempt.started_at,
    `${attempt.duration_ms} ms`,
    attempt.outcome,
    attempt.error_kind,
    attempt.next_attempt_at,
    attempt.error,
  ]);
  return table(["round", "attempt", "started", "took", "outcome", "kind", "next", "error"], rows);
}
