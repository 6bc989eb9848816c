import type { CommandText, Text } from "../../api/acts/act.ts";
import * as rareTasks from "../../api/acts/rare-task-acts.ts";
import * as tasks from "../../api/acts/task-acts.ts";
import type { AttemptView, TaskView } from "../../client/index.ts";
import type { Status } from "../../core/model/words.ts";
import { firstOf, thing } from "./answer.ts";
import { type Connection, clientOf, connection, countTo, followerOf, limit, operationsOf } from "./connection.ts";
import { follow, following } from "./follow-task.ts";
import type { Group, Register } from "./group.ts";
import { readInput } from "./json-input.ts";
import { asGiven, valuesOf } from "./options.ts";
import { addSubmit } from "./submit-command.ts";
import { addChildren, addLogs, addParts, tasksColumns } from "./task-parts.ts";
import { addBulk, someTasks } from "./tasks-bulk.ts";
import { tasksCsv } from "./tasks-csv.ts";
import { plainStack, UsageError } from "./terminal.ts";
import { type Columns, type Screen, tableOf } from "./text-table.ts";
import { requireEnd, writeResult } from "./write-result.ts";

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
`;

/** `offload tasks submit|list|get|attempts|steps|input|follow|result`, and the commands that change tasks. */
export const register: Register = (group) => {
  group.help(examples, "any");
  addSubmit(group.in("submit", "the same as `offload submit`", { hidden: true }));
  addList(group);
  addReads(group);
  addChanges(group);
};

const ofOne = [["<task_id>"], ...connection] as const;

function addReads(group: Group): void {
  const { terminal } = group;
  const get = group.add("get", "show a task", ofOne, async (options, id) => thing(await clientOf(options).status(id)));
  get.alias("show");
  group.add("attempts", "show every attempt of a task, oldest first", ofOne, async (options, id) => {
    const attempts = await clientOf(options).attempts(id);
    return { json: { attempts }, text: (screen) => attemptsText(attempts, screen) };
  });
  addLogs(group);
  addParts(group);
  addChildren(group);
  const follows = "wait for a task's end, show its progress and print its result";
  group.add("follow", follows, [...ofOne, ...following], (options, id) =>
    follow(terminal, followerOf(options), id, options),
  );
  const output = ["--output <file>", "write the result to this file; - is the standard output"] as const;
  const prints = "print the result of a completed task, or save it when it is a file";
  group.add("result", prints, [...ofOne, output], async (options, id) => {
    const client = clientOf(options);
    await requireEnd(client, id);
    await writeResult(terminal, id, await client.result(id), options.output);
  });
}

function addChanges(group: Group): void {
  addBulk(group);
  for (const { command } of Object.values<Text>({ ...tasks.texts, ...rareTasks.texts })) {
    if (command !== undefined) addAct(group, command);
  }
  const start = [
    ["--run-at <time>", "start at this time (ISO 8601)"],
    ["--delay <seconds>", "start so many seconds from now, up to a year", countTo(31_536_000)],
  ] as const;
  const moves = "move the start of a waiting task; as an operator, also its next attempt";
  group.add("reschedule", moves, [...ofOne, ...start], async (options, id) => {
    const { runAt, delay } = options;
    if ((runAt === undefined) === (delay === undefined)) throw new UsageError("give either --run-at or --delay");
    const start = runAt === undefined ? { delaySeconds: delay ?? 0 } : { runAt };
    return thing(await clientOf(options).reschedule(id, start));
  });
  const signal = [
    ["<name>", "name of the signal"],
    ["[body]", "body of the signal: JSON, @file, or - for the standard input; default: null"],
  ] as const;
  const sends = "send a signal to a task, for its task.waitFor of that name";
  group.add("signal", sends, [...ofOne, ...signal], async (options, id, name, body) =>
    thing(await clientOf(options).signal(id, name, await readInput(body, group.terminal))),
  );
}

/** Methods for acts on one task, by name: of the client, or of `Operations`. */
type Calls = Readonly<Record<string, (task: string, value: unknown) => Promise<TaskView>>>;

/** Adds the command of an act on one task, as `src/api/acts` describes it. */
function addAct(group: Group, { name, description, takes, value, among, call }: CommandText): void {
  const reading = { required: true, ...(typeof among === "number" ? { read: countTo(among) } : { among }) } as const;
  const act = async (options: Connection, id: string, operand: unknown) => {
    const option = /^--(\w+)/.exec(takes)?.[1];
    const client = clientOf(options);
    const calls = (call in client ? client : operationsOf(options)) as unknown as Calls;
    const given = option === undefined ? operand : options[option as keyof Connection];
    return thing(await (calls[call] as Calls[string])(id, given));
  };
  group.add(name, description, [["<task_id>"], ...connection, [takes, value, reading]], act as never);
}

const filter = [
  [
    "--status <status>",
    "only this status: scheduled, pending, processing, completed, failed, cancelled or expired",
    asGiven<Status>,
  ],
  ...someTasks,
  ["--unique-key <key>", "only tasks with this unique key; with --type"],
  ["--search <text>", "start of an id, correlation id, tag's value, name=value, or part of the error's text"],
] as const;

function addList(group: Group): void {
  const own = [
    limit("tasks", 50),
    ["--csv", "print CSV with each task's input, where it is kept; one request more for each task"],
  ] as const;
  group.add("list", "list tasks, newest first", [...filter, ...own, ...connection], async (options) => {
    const { tag: tags, search: q, ...others } = valuesOf(filter, options);
    const list = clientOf(options).list({ ...others, tags, q });
    const shown = { json: "tasks", none: "No tasks.", columns: tasksColumns(options) };
    const { items, ...answer } = await firstOf(list, options.limit, {
      ...shown,
      withEnd: true,
      cure: "raise --limit or add filters",
    });
    if (!options.csv) return answer;
    const { terminal } = group;
    terminal.out(await tasksCsv(items, options, { onScreen: terminal.width !== undefined }));
    if (answer.note !== undefined) terminal.note(answer.note);
  });
}

const attemptColumns: Columns<AttemptView> = {
  ...{ round: "round", attempt: "number", started: "started_at" },
  took: ({ duration_ms }) => `${duration_ms} ms`,
  ...{ outcome: "outcome", kind: "error_kind", next: "next_attempt_at", error: "error" },
};

export const attemptsText = (attempts: readonly AttemptView[], screen: Screen): string =>
  attempts.length === 0
    ? "No attempt has ended."
    : [tableOf(attempts, attemptColumns, screen), ...stacksOf(attempts)].join("\n");

/** The stacks of failed attempts, each different one once. */
function stacksOf(attempts: readonly AttemptView[]): string[] {
  const stacks = new Set(attempts.flatMap(({ stack }) => stack ?? []));
  return [...stacks].map((stack) => `\n${plainStack(stack)}`);
}
