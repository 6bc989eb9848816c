import type { Command } from "commander";
import {
  type Client,
  type DeadLetterFilter,
  type DeadLetterView,
  type LetterGroupView,
  Operations,
  type Selection,
} from "../client/index.ts";
import { errorHint } from "../core/control/group-dead-letters.ts";
import { tiers } from "../core/model/tier.ts";
import { type Connection, clientOf, connectionOf, count, isForAll, take, withConnection } from "./client.ts";
import { addOperation, type OperationOptions, selectsByIds, startOperation, withOperation } from "./operation.ts";
import type { Register } from "./register.ts";
import { fields, table } from "./table.ts";
import { attemptsTable } from "./tasks.ts";
import { CommandFailed, type Terminal, UsageError } from "./terminal.ts";

interface ListOptions extends Connection, DeadLetterFilter {
  limit: number;
}

interface ActOptions extends OperationOptions, DeadLetterFilter {}

type Action = "replay" | "discard";

const examples = `
Examples:
  npx offload dlq groups
  npx offload dlq list --type mail.send
  npx offload dlq groups --tenant '*'
  npx offload dlq replay --fingerprint 56d96c5aaaed3847
  npx offload dlq show 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11
  npx offload dlq replay --type mail.send --dry-run
  npx offload dlq replay --type mail.send --per-second 10 --wait
  npx offload dlq discard --error-kind validation --failed-before 2027-01-01T00:00:00Z
  npx offload dlq replay --all --yes

Set OFFLOAD_URL and OFFLOAD_KEY instead of giving --url and --key each time. The key must have the role operator or admin.
`;

/** `offload dlq list|groups|show|replay|discard|operation` */
export const register: Register = (command, terminal) => {
  command.addHelpText("after", examples);
  const list = command.command("list").description("list dead letters, newest first");
  withConnection(withFilter(list).option("--limit <n>", "maximum number of dead letters", count, 50)).action(
    (options: ListOptions) => showList(terminal, options),
  );
  const groups = command.command("groups").description("group dead letters by type and error, the largest group first");
  withConnection(withFilter(groups)).action((options: Connection & DeadLetterFilter) => showGroups(terminal, options));
  const show = command.command("show <task_id>").description("show a dead letter with its input and attempts");
  withConnection(show).action((taskId: string, options: Connection) => showOne(terminal, taskId, options));
  addAction(command, terminal, "replay", "retry dead letters with a new round of attempts");
  addAction(command, terminal, "discard", "remove dead letters from the list permanently; their tasks stay failed");
  const recover = command
    .command("recover [tiers...]")
    .description("list dead letters again whose records are gone, from their messages (default: of all tiers)");
  withConnection(recover).action((names: string[], options: Connection) => recoverLetters(terminal, names, options));
  addOperation(command, terminal, "a replay or discard");
};

const withFilter = (command: Command): Command =>
  command
    .option("--type <type>", "only this task type")
    .option("--error-type <name>", "only if the last error has this name")
    .option("--error-kind <kind>", "only if the last failure has this kind, such as permanent or timed_out")
    .option("--fingerprint <id>", "only errors with this fingerprint, from `dlq groups`")
    .option("--priority <tier>", "only this tier: critical, high, normal or low")
    .option("--failed-after <time>", "failed at or after this time (ISO 8601)")
    .option("--failed-before <time>", "failed before this time (ISO 8601)");

const filterOf = (options: DeadLetterFilter): DeadLetterFilter => ({
  type: options.type,
  errorType: options.errorType,
  errorKind: options.errorKind,
  fingerprint: options.fingerprint,
  priority: options.priority,
  failedAfter: options.failedAfter,
  failedBefore: options.failedBefore,
});

function addAction(group: Command, terminal: Terminal, action: Action, description: string): void {
  const command = withOperation(withFilter(group.command(`${action} [task_ids...]`).description(description)), {
    all: "all dead letters of the tenant",
    one: "dead letters",
  });
  if (action === "replay") command.option("--per-second <n>", "maximum number per second, 1 to 100", count);
  withConnection(command).action((taskIds: string[], options: ActOptions) =>
    runAction(terminal, action, taskIds, options),
  );
}

async function showList(terminal: Terminal, options: ListOptions): Promise<void> {
  const { items, more } = await take(clientOf(options).deadLetters.list(filterOf(options)), options.limit);
  if (options.json) terminal.out(JSON.stringify({ dead_letters: items, complete: !more }, null, 2));
  else terminal.out(items.length === 0 ? "No dead letters." : lettersTable(items, terminal, options));
  if (more) terminal.note(`There are more than ${items.length}: raise --limit or add filters.`);
}

function lettersTable(letters: readonly DeadLetterView[], terminal: Terminal, looks: Connection): string {
  const forAll = isForAll(looks);
  const rows = letters.map((letter) => [
    ...(forAll ? [letter.tenant_id] : []),
    letter.task_id,
    letter.type,
    letter.priority,
    letter.last_failed_at,
    letter.attempts,
    kindText(letter.error_kind, errorHint({ error_type: letter.error_type ?? "", error: letter.error ?? "" })),
    letter.error,
  ]);
  const columns = ["task", "type", "tier", "failed", "attempts", "kind", "error"];
  return table(forAll ? ["tenant", ...columns] : columns, rows, terminal, looks);
}

async function showGroups(terminal: Terminal, options: Connection & DeadLetterFilter): Promise<void> {
  const found = await new Operations(connectionOf(options)).deadLetterGroups(filterOf(options));
  if (options.json) terminal.out(JSON.stringify(found, null, 2));
  else
    terminal.out(found.groups.length === 0 ? noGroups(found.complete) : groupsTable(found.groups, terminal, options));
  if (!found.complete) terminal.note("Older dead letters are not counted: narrow --failed-after and --failed-before.");
}

async function recoverLetters(terminal: Terminal, names: readonly string[], options: Connection): Promise<void> {
  const known = names.map((name) => tiers.find((tier) => tier === name));
  if (known.includes(undefined)) throw new UsageError(`the tiers are ${tiers.join(", ")}`);
  const operations = new Operations(connectionOf(options));
  for (const tier of tiers) if (known.length === 0 || known.includes(tier)) await operations.recoverDeadLetters(tier);
  terminal.out("Messages without a record are dead letters of the list within some seconds: `npx offload dlq list`.");
}

/** A failure class, with where its cause is to be looked for: `transient (bug)`. */
const kindText = (kind: string | null | undefined, hint: string | undefined) =>
  hint === undefined ? kind : `${kind} (${hint})`;

const noGroups = (complete: boolean): string =>
  complete ? "No dead letters." : "No dead letters among those that were read.";

function groupsTable(groups: readonly LetterGroupView[], terminal: Terminal, looks: Connection): string {
  const forAll = isForAll(looks);
  const rows = groups.map((group) => [
    group.count,
    ...(forAll ? [tenantsText(group)] : []),
    group.type,
    group.fingerprint,
    group.last_failed_at,
    kindText(group.error_kind, group.hint),
    group.error,
  ]);
  const columns = ["type", "fingerprint", "last failed", "kind", "error"];
  return table(["count", ...(forAll ? ["tenants"] : []), ...columns], rows, terminal, looks);
}

/** Tenants of a group that are named, the ones with the most dead letters. */
const mostNamed = 3;

function tenantsText({ by_tenant = {} }: LetterGroupView): string {
  const most = Object.entries(by_tenant).sort(([, a], [, b]) => b - a);
  const named = most.slice(0, mostNamed).map(([tenantId, count]) => `${tenantId} ${count}`);
  return [...named, ...(most.length > mostNamed ? [`and ${most.length - mostNamed} more`] : [])].join(", ");
}

async function showOne(terminal: Terminal, taskId: string, options: Connection): Promise<void> {
  const client = clientOf(options);
  const letter = await findLetter(client, taskId);
  const attempts = await client.attempts(taskId);
  if (options.json) return terminal.out(JSON.stringify({ ...letter, history: attempts }, null, 2));
  // The attempts show the stack.
  const { input, stack: _, ...rest } = letter;
  terminal.out(fields(Object.entries(rest), terminal, options));
  terminal.out(`\nInput\n${JSON.stringify(input, null, 2)}`);
  terminal.out(`\nAttempts\n${attemptsTable(attempts, terminal, options)}`);
}

/** Selects the dead letters that failed in this millisecond. */
export const failedAt = (time: string): DeadLetterFilter => ({
  failedAfter: time,
  failedBefore: new Date(Date.parse(time) + 1),
});

/** The API has no look-up of a dead letter by id, so this lists those that failed at the task's `finished_at`. */
async function findLetter(client: Client, taskId: string): Promise<DeadLetterView> {
  const task = await client.status(taskId);
  if (task.status !== "failed" || task.finished_at === null) {
    throw new CommandFailed(`task ${taskId} is not a dead letter: its status is ${task.status}`);
  }
  const { items } = await take(client.deadLetters.list(failedAt(task.finished_at)), 1_000);
  const letter = items.find(({ task_id }) => task_id === taskId);
  if (letter === undefined) throw new CommandFailed(`task ${taskId} is no longer a dead letter: it was discarded`);
  return letter;
}

function runAction(terminal: Terminal, action: Action, taskIds: string[], options: ActOptions): Promise<void> {
  const filter = filterOf(options);
  const selection: Selection = selectsByIds(taskIds, filter, options, "dead letters") ? { taskIds } : { filter };
  const { deadLetters } = clientOf(options);
  const starting = {
    group: "dlq",
    action,
    count: () => new Operations(connectionOf(options)).dryRunOfLetters(action, selection),
    start: () => deadLetters[action](selection, { perSecond: options.perSecond }),
  } as const;
  return startOperation(terminal, starting, options);
}
