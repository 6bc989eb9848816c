import type { Command } from "commander";
import { Client, type Connection, collect, count, withConnection } from "./client.ts";
import type { Register } from "./register.ts";
import { fields, table } from "./table.ts";
import { Misuse, type Terminal } from "./terminal.ts";

/** What these commands read of a task. */
interface Task extends Record<string, unknown> {
  task_id: string;
  type: string;
  status: string;
  priority: string;
  attempts: number;
  max_attempts: number;
  created_at: string;
  error: string | null;
  tags: Record<string, string>;
}

/** One attempt, as the API shows it. */
export interface Attempt {
  round: number;
  number: number;
  started_at: string;
  duration_ms: number;
  outcome: string;
  error_kind: string | null;
  error: string | null;
  next_attempt_at: string | null;
}

interface ListOptions extends Connection {
  status?: string;
  type?: string;
  priority?: string;
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

OFFLOAD_URL and OFFLOAD_KEY save you --url and --key.
`;

/** `offload tasks list|get|attempts|retry|cancel` */
export const register: Register = (command, terminal) => {
  command.addHelpText("after", examples);
  addList(command, terminal);
  const one = (
    name: string,
    description: string,
    show: (client: Client, path: string, json?: boolean) => Promise<void>,
  ) =>
    withConnection(command.command(`${name} <task_id>`).description(description)).action(
      (taskId: string, options: Connection) =>
        show(new Client(options), `/tasks/${encodeURIComponent(taskId)}`, options.json),
    );
  const print = (task: Task, json?: boolean) => terminal.out(json ? JSON.stringify(task, null, 2) : describe(task));
  one("get", "show a task", async (client, path, json) => print(await client.get<Task>(path), json));
  one("attempts", "show every attempt of a task, oldest first", async (client, path, json) => {
    const answer = await client.get<{ attempts: Attempt[] }>(`${path}/attempts`);
    terminal.out(json ? JSON.stringify(answer, null, 2) : attemptsTable(answer.attempts));
  });
  one("retry", "give a failed task a new round of attempts", async (client, path, json) => {
    print(await client.post<Task>(`${path}/retry`), json);
  });
  one("cancel", "cancel a task that has not ended", async (client, path, json) => {
    print(await client.post<Task>(`${path}/cancel`), json);
  });
};

function addList(command: Command, terminal: Terminal): void {
  const list = command
    .command("list")
    .description("list tasks, newest first")
    .option("--status <status>", "scheduled, pending, processing, completed, failed, cancelled or expired")
    .option("--type <type>", "tasks of this type")
    .option("--priority <tier>", "critical, high, normal or low")
    .option("--tag <name=value>", "tasks with this tag; may be given more than once", addTag, {})
    .option("--created-after <time>", "ISO 8601, included")
    .option("--created-before <time>", "ISO 8601, not included")
    .option("--limit <n>", "how many at the most", count, 50);
  withConnection(list).action(async (options: ListOptions) => {
    const tags = Object.entries(options.tag).map(([name, value]) => [`tag.${name}`, value]);
    const { items, more } = await collect<Task>(new Client(options), "/tasks", "tasks", {
      ...Object.fromEntries(tags),
      status: options.status,
      type: options.type,
      priority: options.priority,
      created_after: options.createdAfter,
      created_before: options.createdBefore,
      limit: options.limit,
    });
    if (options.json) terminal.out(JSON.stringify({ tasks: items }, null, 2));
    else terminal.out(items.length === 0 ? "No tasks." : tasksTable(items));
    if (more) terminal.note(`There are more than ${items.length}: raise --limit, or filter.`);
  });
}

/** Reads `--tag name=value`, which may be given more than once. */
export function addTag(text: string, earlier: Record<string, string>): Record<string, string> {
  const at = text.indexOf("=");
  if (at < 1) throw new Misuse(`--tag: expected name=value, got ${JSON.stringify(text)}`);
  return { ...earlier, [text.slice(0, at)]: text.slice(at + 1) };
}

function tasksTable(tasks: readonly Task[]): string {
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

/** Every field that says something. */
export function describe(thing: Record<string, unknown>): string {
  const said = Object.entries(thing).filter(([, value]) => value !== null && !isEmpty(value));
  return fields(said.map(([name, value]) => [name, typeof value === "object" ? JSON.stringify(value) : value]));
}

const isEmpty = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0;

export function attemptsTable(attempts: readonly Attempt[]): string {
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
