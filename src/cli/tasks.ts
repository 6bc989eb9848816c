import type { Command } from "commander";
import type { AttemptView, TaskFilter, TaskView } from "../client/index.ts";
import type { Text } from "../operations/act.ts";
import * as rareTasks from "../operations/rare-tasks.ts";
import * as tasks from "../operations/tasks.ts";
import { addAct, one } from "./acts.ts";
import {
  addTag,
  type Connection,
  clientOf,
  count,
  countTo,
  followerOf,
  isForAll,
  take,
  withConnection,
} from "./client.ts";
import { type FollowOptions, follow } from "./follow.ts";
import { readInput } from "./json-input.ts";
import type { Register } from "./register.ts";
import { requireEnd, writeResult } from "./result.ts";
import { addSubmit, withFollow } from "./run.ts";
import { plainStack } from "./stack.ts";
import { describe, type Looks, table } from "./table.ts";
import { addChildren, addLogs, addParts } from "./task-parts.ts";
import { addBulk } from "./tasks-bulk.ts";
import { tasksCsv } from "./tasks-csv.ts";
import { type Terminal, UsageError } from "./terminal.ts";

interface ListOptions extends Connection, Pick<TaskFilter, "status" | "type" | "priority" | "uniqueKey"> {
  csv?: boolean;
  tag?: Record<string, string>;
  createdAfter?: string;
  createdBefore?: string;
  search?: string;
  limit: number;
}

const examples = `
Examples:
  npx offload tasks list --status failed --type mail.send
  npx offload tasks list --tag order=4711 --json
  npx offload tasks list --search "card declined"
  npx offload tasks list --status failed --tenant '*'
  npx offload tasks list --type mail.send --created-after 2026-11-26T08:00:00Z --limit 10000 --csv > concerned.csv
  npx offload tasks get 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11
  npx offload tasks get ~post.publish:post-4711
  npx offload tasks steps 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11
  npx offload tasks input 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11 > input.json
  npx offload tasks follow 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11 --timeout 60
  npx offload tasks result 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11 --output invoice.pdf
  npx offload tasks retry 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11
  npx offload tasks retry 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11 --input '{"to":"ada@example.com"}'
  npx offload tasks cancel --type mail.send --tag campaign=spring --dry-run
  npx offload tasks cancel --type mail.send --status processing --now
  npx offload tasks retry --type mail.send --created-after 2027-01-01 --per-second 10 --wait
  npx offload tasks operation 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b12 --cancel
  npx offload tasks priority 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11 high
  npx offload tasks reschedule ~post.publish:post-4711 --run-at 2027-03-01T08:00:00Z
  npx offload tasks signal 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11 approved '{"by":"ada"}'

Set OFFLOAD_URL and OFFLOAD_KEY instead of giving --url and --key each time.
`;

/** `offload tasks submit|list|get|attempts|steps|input|follow|result`, and the commands that change tasks. */
export const register: Register = (command, terminal, exit) => {
  command.addHelpText("after", examples);
  addSubmit(command.command("submit", { hidden: true }).description("the same as `offload submit`"), terminal, exit);
  addList(command, terminal);
  addReads(command, terminal, exit);
  addChanges(command, terminal);
};

function addReads(group: Command, terminal: Terminal, exit: (code: number) => void): void {
  const get = one(group, "get", "show a task").alias("show");
  get.action(async (id: string, options: Connection) => print(terminal, await clientOf(options).status(id), options));
  const attempts = one(group, "attempts", "show every attempt of a task, oldest first");
  attempts.action(async (id: string, options: Connection) => {
    const attempts = await clientOf(options).attempts(id);
    const text = () => attemptsTable(attempts, terminal, options);
    terminal.out(options.json ? JSON.stringify({ attempts }, null, 2) : text());
  });
  addLogs(group, terminal);
  addParts(group, terminal);
  addChildren(group, terminal, (tasks, looks) => tasksTable(tasks, terminal, looks));
  const followed = one(group, "follow", "wait for a task's end, show its progress and print its result");
  withFollow(followed).action(async (id: string, options: FollowOptions) => {
    exit(await follow(terminal, followerOf(options), id, options));
  });
  one(group, "result", "print the result of a completed task, or save it when it is a file")
    .option("--output <file>", "write the result to this file; - is the standard output")
    .action(async (id: string, options: Connection & { output?: string }) => {
      const client = clientOf(options);
      await requireEnd(client, id);
      await writeResult(terminal, id, await client.result(id), options.output);
    });
}

function addChanges(group: Command, terminal: Terminal): void {
  addBulk(group, terminal, (task, options) => print(terminal, task, options));
  for (const { command } of Object.values<Text>({ ...tasks.texts, ...rareTasks.texts })) {
    if (command !== undefined) addAct(group, command, (task, options) => print(terminal, task, options));
  }
  one(group, "reschedule", "move the start of a waiting task; as an operator, also its next attempt")
    .option("--run-at <time>", "start at this time (ISO 8601)")
    .option("--delay <seconds>", "start so many seconds from now, up to a year", countTo(31_536_000))
    .action(async (id: string, { runAt, delay, ...options }: Connection & { runAt?: string; delay?: number }) => {
      if ((runAt === undefined) === (delay === undefined)) throw new UsageError("give either --run-at or --delay");
      const start = runAt === undefined ? { delaySeconds: delay ?? 0 } : { runAt };
      print(terminal, await clientOf(options).reschedule(id, start), options);
    });
  one(group, "signal", "send a signal to a task, for its task.waitFor of that name")
    .argument("<name>", "name of the signal")
    .argument("[body]", "body of the signal: JSON, @file, or - for the standard input; default: null")
    .action(async (id: string, name: string, body: string | undefined, options: Connection) =>
      print(terminal, await clientOf(options).signal(id, name, await readInput(body, terminal)), options),
    );
}

const print = (terminal: Terminal, task: TaskView, options: Connection): void =>
  terminal.out(options.json ? JSON.stringify(task, null, 2) : describe(task, terminal, options));

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
    .option("--tag <name=value>", "only tasks with this tag; repeatable", addTag)
    .option("--created-after <time>", "created at or after this time (ISO 8601)")
    .option("--created-before <time>", "created before this time (ISO 8601)")
    .option("--unique-key <key>", "only tasks with this unique key; with --type")
    .option("--search <text>", "start of an id, correlation id, tag's value, name=value, or part of the error's text")
    .option("--limit <n>", "maximum number of tasks", count, 50)
    .option("--csv", "print CSV with each task's input, where it is kept; one request more for each task");
  withConnection(list).action(async (options: ListOptions) => {
    const { tag: tags, search: q, limit } = options;
    const { status, type, priority, createdAfter, createdBefore, uniqueKey } = options;
    const filter = { status, type, priority, tags, createdAfter, createdBefore, uniqueKey, q };
    const list = clientOf(options).list(filter);
    const { items, more } = await take(list, limit);
    if (options.csv) terminal.out(await tasksCsv(items, options, { onScreen: terminal.width !== undefined }));
    else if (options.json) terminal.out(JSON.stringify({ tasks: items, complete: !more }, null, 2));
    else terminal.out(items.length === 0 ? "No tasks." : tasksTable(items, terminal, options));
    if (more) terminal.note(`There are more than ${items.length}: raise --limit or add filters.`);
  });
}

function tasksTable(tasks: readonly TaskView[], terminal: Terminal, looks: Looks & Pick<Connection, "tenant">): string {
  const forAll = isForAll(looks);
  const rows = tasks.map((task) => [
    ...(forAll ? [task.tenant_id] : []),
    task.task_id,
    task.type,
    task.status,
    task.priority,
    `${task.attempts}/${task.max_attempts}`,
    task.created_at,
    task.error,
  ]);
  const columns = ["task", "type", "status", "tier", "attempts", "created", "error"];
  return table(forAll ? ["tenant", ...columns] : columns, rows, terminal, looks);
}

export function attemptsTable(attempts: readonly AttemptView[], terminal: Terminal, looks: Looks): string {
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
  const text = table(
    ["round", "attempt", "started", "took", "outcome", "kind", "next", "error"],
    rows,
    terminal,
    looks,
  );
  return [text, ...stacksOf(attempts)].join("\n");
}

/** The stacks of failed attempts, each different one once. */
function stacksOf(attempts: readonly AttemptView[]): string[] {
  const stacks = new Set(attempts.flatMap(({ stack }) => stack ?? []));
  return [...stacks].map((stack) => `\n${plainStack(stack)}`);
}
