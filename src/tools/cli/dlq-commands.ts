import type { Client, DeadLetterFilter, DeadLetterView, LetterGroupView } from "../../client/index.ts";
import { errorHint } from "../../core/control/group-dead-letters.ts";
import { type Tier, tiers } from "../../core/model/words.ts";
import { firstOf, listText } from "./answer.ts";
import { clientOf, connection, isForAll, limit, operationsOf, take } from "./connection.ts";
import type { Group, Register } from "./group.ts";
import {
  addOperation,
  type OperationOptions,
  perSecond,
  selecting,
  selectionOf,
  startOperation,
} from "./operation-commands.ts";
import { asGiven, type Options, valuesOf } from "./options.ts";
import { attemptsText } from "./task-commands.ts";
import { CommandFailed, UsageError } from "./terminal.ts";
import { fields } from "./text-table.ts";

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
`;

const filter = [
  ["--type <type>", "only this task type"],
  ["--error-type <name>", "only if the last error has this name"],
  [
    "--error-kind <kind>",
    "only if the last failure has this kind, such as permanent or timed_out",
    asGiven<NonNullable<DeadLetterFilter["errorKind"]>>,
  ],
  ["--fingerprint <id>", "only errors with this fingerprint, from `dlq groups`"],
  ["--priority <tier>", "only this tier: critical, high, normal or low", asGiven<Tier>],
  ["--failed-after <time>", "failed at or after this time (ISO 8601)"],
  ["--failed-before <time>", "failed before this time (ISO 8601)"],
] as const;

const many = [["[task_ids...]"], ...filter, ...selecting("all dead letters of the tenant", "dead letters")] as const;

/** `offload dlq list|groups|show|replay|discard|operation` */
export const register: Register = (group) => {
  group.help(examples, "operator or admin");
  addList(group);
  addGroups(group);
  addShow(group);
  const replays = "retry dead letters with a new round of attempts";
  group.add("replay", replays, [...many, perSecond, ...connection], (options, ids) =>
    act("replay", ids, options, group),
  );
  const discards = "remove dead letters from the list permanently; their tasks stay failed";
  group.add("discard", discards, [...many, ...connection], (options, ids) => act("discard", ids, options, group));
  const about = "list dead letters again whose records are gone, from their messages (default: of all tiers)";
  group.add("recover", about, [["[tiers...]"], ...connection], async (options, names) => {
    const known = names.map((name) => tiers.find((tier) => tier === name));
    if (known.includes(undefined)) throw new UsageError(`the tiers are ${tiers.join(", ")}`);
    const operations = operationsOf(options);
    for (const tier of tiers) if (known.length === 0 || known.includes(tier)) await operations.recoverDeadLetters(tier);
    group.terminal.out(recovered);
  });
  addOperation(group, "a replay or discard");
};

const recovered = "Messages without a record are dead letters of the list within some seconds: `npx offload dlq list`.";

function addList(group: Group): void {
  const all = [...filter, limit("dead letters", 50), ...connection] as const;
  group.add("list", "list dead letters, newest first", all, (options) =>
    firstOf<DeadLetterView>(clientOf(options).deadLetters.list(valuesOf(filter, options)), options.limit, {
      json: "dead_letters",
      none: "No dead letters.",
      columns: {
        ...(isForAll(options) && { tenant: "tenant_id" }),
        ...{ task: "task_id", type: "type", tier: "priority", failed: "last_failed_at", attempts: "attempts" },
        kind: ({ error_kind, error_type, error }) =>
          kindText(error_kind, errorHint({ error_type: error_type ?? "", error: error ?? "" })),
        error: "error",
      },
      withEnd: true,
      cure: "raise --limit or add filters",
    }),
  );
}

function addGroups(group: Group): void {
  const about = "group dead letters by type and error, the largest group first";
  group.add("groups", about, [...filter, ...connection], async (options) => {
    const found = await operationsOf(options).deadLetterGroups(valuesOf(filter, options));
    const text = listText<LetterGroupView>(found.groups, noGroups(found.complete), {
      count: "count",
      ...(isForAll(options) && { tenants: tenantsText }),
      ...{ type: "type", fingerprint: "fingerprint", "last failed": "last_failed_at" },
      kind: ({ error_kind, hint }) => kindText(error_kind, hint),
      error: "error",
    });
    const older = "Older dead letters are not counted: narrow --failed-after and --failed-before.";
    return { json: found, text, note: found.complete ? undefined : older };
  });
}

/** A failure class, with where its cause is to be looked for: `transient (bug)`. */
const kindText = (kind: string | null | undefined, hint: string | undefined) =>
  hint === undefined ? kind : `${kind} (${hint})`;

const noGroups = (complete: boolean): string =>
  complete ? "No dead letters." : "No dead letters among those that were read.";

/** Tenants of a group that are named, the ones with the most dead letters. */
const mostNamed = 3;

function tenantsText({ by_tenant = {} }: LetterGroupView): string {
  const most = Object.entries(by_tenant).sort(([, a], [, b]) => b - a);
  const named = most.slice(0, mostNamed).map(([tenantId, count]) => `${tenantId} ${count}`);
  return [...named, ...(most.length > mostNamed ? [`and ${most.length - mostNamed} more`] : [])].join(", ");
}

function addShow(group: Group): void {
  const about = "show a dead letter with its input and attempts";
  group.add("show", about, [["<task_id>"], ...connection], async (options, taskId) => {
    const client = clientOf(options);
    const letter = await findLetter(client, taskId);
    const history = await client.attempts(taskId);
    // The attempts show the stack.
    const { input, stack: _, ...rest } = letter;
    return {
      json: { ...letter, history },
      text: (screen) =>
        [
          fields(Object.entries(rest), screen),
          `Input\n${JSON.stringify(input, null, 2)}`,
          `Attempts\n${attemptsText(history, screen)}`,
        ].join("\n\n"),
    };
  });
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

function act(
  action: "replay" | "discard",
  ids: string[],
  options: OperationOptions & Options<typeof filter> & { perSecond?: number },
  { terminal }: Group,
) {
  const selection = selectionOf(ids, valuesOf(filter, options), options, "dead letters");
  const { deadLetters } = clientOf(options);
  const starting = {
    group: "dlq",
    action,
    count: () => operationsOf(options).dryRunOfLetters(action, selection),
    start: () => deadLetters[action](selection, { perSecond: options.perSecond }),
  } as const;
  return startOperation(terminal, starting, options);
}
