import type { DryRun, Operations, OperationView, StartedOperation } from "../../client/index.ts";
import type { Answer } from "./answer.ts";
import { type Connection, connection, count, operationsOf } from "./connection.ts";
import type { Group } from "./group.ts";
import type { Options } from "./options.ts";
import { CommandFailed, said, type Terminal, UsageError } from "./terminal.ts";
import { type Screen, table } from "./text-table.ts";

const pollMs = 1_000;

/** Options of a command that starts an operation. */
export const selecting = (all: string, things: string) =>
  [
    ["--all", all],
    ["--yes", "do not ask for confirmation of --all"],
    ["--dry-run", `only count the ${things} that match`],
    ["--wait", "wait until it ends; exit code 1 when some failed"],
  ] as const;

export const perSecond = ["--per-second <n>", "maximum number per second, 1 to 100", count] as const;

export type OperationOptions = Connection & Options<ReturnType<typeof selecting>>;

/** An operation to start. */
export interface Starting {
  /** The group of the command, which also has the command `operation`. */
  group: "dlq" | "tasks";
  action: "replay" | "discard" | "cancel" | "retry" | "run-now";
  /** Counts the selected ones. */
  count(): Promise<DryRun>;
  start(): Promise<StartedOperation>;
}

const thingsOf = ({ group }: Starting) => (group === "dlq" ? "dead letters" : "tasks");

/**
 * The ids, or the filter, which is empty for --all.
 * @throws UsageError unless the options have exactly one of ids, filters and --all
 */
export function selectionOf<Filter extends object>(
  taskIds: readonly string[],
  filter: Filter,
  { all }: OperationOptions,
  things: string,
): { taskIds: readonly string[] } | { filter: Filter } {
  const filtered = Object.values(filter).some((value) => value !== undefined);
  const ways = [taskIds.length > 0, filtered, all].filter(Boolean).length;
  if (ways === 1) return taskIds.length > 0 ? { taskIds } : { filter };
  throw new UsageError(
    ways === 0
      ? `no ${things} selected: give task ids, a filter such as --type, or --all`
      : "give only one of task ids, filters and --all",
  );
}

/** Starts an operation, or only counts; asks before it acts on all; waits for its end where that was asked for. */
export async function startOperation(
  terminal: Terminal,
  starting: Starting,
  options: OperationOptions,
): Promise<Answer | undefined> {
  const { action, group } = starting;
  if (options.dryRun) {
    const found = await starting.count();
    terminal.out(options.json ? JSON.stringify(found) : dryRunText(found, starting, { terminal }));
    return undefined;
  }
  if (options.all && !options.yes) await askFirst(terminal, starting);
  const accepted = await starting.start();
  if (options.wait) return waitForEnd(terminal, operationsOf(options), accepted.operation_id);
  const text = `The ${action} of ${accepted.matched} ${thingsOf(starting)} was accepted. Follow it with`;
  return { json: accepted, text: `${text}\n  npx offload ${group} operation ${accepted.operation_id} --wait` };
}

/** The number of what an operation would act on; of an operation on all tenants also that of each. */
function dryRunText({ matched, by_tenant = {}, with_callback }: DryRun, starting: Starting, screen: Screen): string {
  const most = Object.entries(by_tenant).sort(([, a], [, b]) => b - a);
  const rows = most.length === 0 ? "" : `\n${table(["tenant", thingsOf(starting)], most, screen)}`;
  const webhooks = with_callback === undefined ? "" : ` The ends of ${with_callback} of them send a webhook.`;
  return `${matched} ${thingsOf(starting)} match.${webhooks}${rows}`;
}

/** @throws UsageError when there is no terminal to ask on, CommandFailed when the answer is no */
async function askFirst(terminal: Terminal, starting: Starting): Promise<void> {
  const { matched, by_tenant } = await starting.count();
  const tenants = by_tenant === undefined ? "" : ` of ${Object.keys(by_tenant).length} tenants`;
  const answer = await terminal.confirm(`${starting.action} all ${matched} ${thingsOf(starting)}${tenants}?`);
  if (answer === undefined) throw new UsageError("--all needs --yes when there is no terminal to ask on");
  if (!answer) throw new CommandFailed("not confirmed: nothing was changed");
}

/** Adds `operation <operation_id>` to a group of commands. */
export function addOperation(group: Group, what: string): void {
  const own = [
    ["<operation_id>"],
    ["--wait", "wait until it ends, and show its progress"],
    ["--cancel", "cancel it; what is done stays done"],
    ["--per-second <n>", "go on with at most so many tasks a second, 1 to 100", count],
  ] as const;
  const about = `show the progress of ${what}, cancel it, or change its rate`;
  group.add("operation", about, [...own, ...connection], async (options, id) => {
    const operations = operationsOf(options);
    if (options.perSecond !== undefined) await operations.changeRate(id, options.perSecond);
    const cancelled = options.cancel ? await operations.cancel(id) : undefined;
    if (options.wait) return waitForEnd(group.terminal, operations, id, cancelled !== undefined);
    return progress(cancelled ?? (await operations.get(id)));
  });
}

/**
 * Polls an operation until it has ended, shows its progress, and then its end.
 * @param cancelled True when the operation is to end as `cancelled`.
 */
async function waitForEnd(terminal: Terminal, operations: Operations, id: string, cancelled = false): Promise<Answer> {
  try {
    for (;;) {
      const operation = await operations.get(id);
      const failure = cancelled && operation.status === "cancelled" ? undefined : failureOf(operation);
      if (hasEnded(operation)) return { ...progress(operation), failure };
      terminal.progress(progressText(operation));
      await terminal.pause(pollMs);
    }
  } finally {
    terminal.endProgress();
  }
}

const progress = (operation: OperationView): Answer => ({ json: operation, text: progressText(operation) });

const hasEnded = ({ status }: OperationView): boolean =>
  ["completed", "failed", "cancelled", "expired"].includes(status);

/** Progress of an operation in one line. */
function progressText({ status, matched, done, skipped, failed, stopped }: OperationView): string {
  const rest = said(skipped > 0 && `${skipped} skipped`, failed > 0 && `${failed} failed`);
  const why = stopped === undefined ? "" : `. It stopped by itself: ${stopped}`;
  return `${status}: ${[`${done} of ${matched} done`, ...rest].join(", ")}${why}`;
}

/** The reason why an operation ended without success for every task. */
function failureOf({ stopped, status, operation_id, matched, done, failed }: OperationView): string | undefined {
  if (stopped !== undefined)
    return `${stopped}: ${matched - done} were left as they are. Mend the reason, then start it again`;
  if (status !== "completed")
    return `the operation is ${status}; for the reason run: npx offload tasks get ${operation_id}`;
  return failed > 0 ? `${failed} of ${matched} failed and were not changed` : undefined;
}
