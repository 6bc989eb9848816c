import type { Command } from "commander";
import { type DryRun, Operations, type OperationView, type StartedOperation } from "../client/index.ts";
import { type Connection, connectionOf, count, withConnection } from "./client.ts";
import { table } from "./table.ts";
import { CommandFailed, type Terminal, UsageError } from "./terminal.ts";

const pollMs = 1_000;

/** Options of a command that starts an operation. */
export interface OperationOptions extends Connection {
  all?: boolean;
  yes?: boolean;
  dryRun?: boolean;
  wait?: boolean;
  perSecond?: number;
}

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

/** Adds the options of a command that starts an operation. */
export const withOperation = (command: Command, { all, one }: { all: string; one: string }): Command =>
  command
    .option("--all", all)
    .option("--yes", "do not ask for confirmation of --all")
    .option("--dry-run", `only count the ${one} that match`)
    .option("--wait", "wait until it ends; exit code 1 when some failed");

/**
 * True when ids are given, false for a filter or --all.
 * @throws UsageError unless the options have exactly one of ids, filters and --all
 */
export function selectsByIds(
  ids: readonly string[],
  filter: object,
  { all }: OperationOptions,
  things: string,
): boolean {
  const filtered = Object.values(filter).some((value) => value !== undefined);
  const ways = [ids.length > 0, filtered, all].filter(Boolean).length;
  if (ways === 1) return ids.length > 0;
  throw new UsageError(
    ways === 0
      ? `no ${things} selected: give task ids, a filter such as --type, or --all`
      : "give only one of task ids, filters and --all",
  );
}

/** Starts an operation, or only counts; asks before it acts on all; waits for its end where that was asked for. */
export async function startOperation(terminal: Terminal, starting: Starting, options: OperationOptions): Promise<void> {
  const { action, group } = starting;
  if (options.dryRun) {
    const found = await starting.count();
    return terminal.out(options.json ? JSON.stringify(found) : dryRunText(found, starting, terminal));
  }
  if (options.all && !options.yes) await askFirst(terminal, starting);
  const accepted = await starting.start();
  if (options.wait) return waitAndShow(terminal, accepted.operation_id, options);
  if (options.json) return terminal.out(JSON.stringify(accepted, null, 2));
  terminal.out(`The ${action} of ${accepted.matched} ${thingsOf(starting)} was accepted. Follow it with`);
  terminal.out(`  npx offload ${group} operation ${accepted.operation_id} --wait`);
}

/** The number of what an operation would act on; of an operation on all tenants also that of each. */
function dryRunText(
  { matched, by_tenant = {}, with_callback }: DryRun,
  starting: Starting,
  terminal: Terminal,
): string {
  const most = Object.entries(by_tenant).sort(([, a], [, b]) => b - a);
  const rows = most.length === 0 ? "" : `\n${table(["tenant", thingsOf(starting)], most, terminal, {})}`;
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
export function addOperation(group: Command, terminal: Terminal, what: string): void {
  const command = group
    .command("operation <operation_id>")
    .description(`show the progress of ${what}, cancel it, or change its rate`)
    .option("--wait", "wait until it ends, and show its progress")
    .option("--cancel", "cancel it; what is done stays done")
    .option("--per-second <n>", "go on with at most so many tasks a second, 1 to 100", count);
  withConnection(command).action((id: string, options: ShowOptions) => showOperation(terminal, id, options));
}

interface ShowOptions extends Connection {
  wait?: boolean;
  cancel?: boolean;
  perSecond?: number;
}

async function showOperation(terminal: Terminal, id: string, options: ShowOptions): Promise<void> {
  const operations = new Operations(connectionOf(options));
  if (options.perSecond !== undefined) await operations.changeRate(id, options.perSecond);
  const cancelled = options.cancel ? await operations.cancel(id) : undefined;
  if (options.wait) return waitAndShow(terminal, id, options, cancelled !== undefined);
  const operation = cancelled ?? (await operations.get(id));
  terminal.out(options.json ? JSON.stringify(operation, null, 2) : progressText(operation));
}

/** @param cancelled True when the operation is to end as `cancelled`. */
async function waitAndShow(terminal: Terminal, id: string, options: Connection, cancelled = false): Promise<void> {
  const operation = await waitForEnd(new Operations(connectionOf(options)), terminal, id);
  terminal.out(options.json ? JSON.stringify(operation, null, 2) : progressText(operation));
  if (!(cancelled && operation.status === "cancelled")) requireSuccess(operation);
}

/** Polls an operation until it has ended, and shows its progress. */
async function waitForEnd(operations: Operations, terminal: Terminal, operationId: string): Promise<OperationView> {
  try {
    for (;;) {
      const operation = await operations.get(operationId);
      if (hasEnded(operation)) return operation;
      terminal.progress(progressText(operation));
      await terminal.pause(pollMs);
    }
  } finally {
    terminal.endProgress();
  }
}

const hasEnded = ({ status }: OperationView): boolean =>
  ["completed", "failed", "cancelled", "expired"].includes(status);

/** Progress of an operation in one line. */
function progressText({ status, matched, done, skipped, failed, stopped }: OperationView): string {
  const rest = [...(skipped > 0 ? [`${skipped} skipped`] : []), ...(failed > 0 ? [`${failed} failed`] : [])];
  const why = stopped === undefined ? "" : `. It stopped by itself: ${stopped}`;
  return `${status}: ${[`${done} of ${matched} done`, ...rest].join(", ")}${why}`;
}

/** @throws CommandFailed when an operation ended without success for every task */
function requireSuccess(operation: OperationView): void {
  if (operation.stopped !== undefined) {
    throw new CommandFailed(
      `${operation.stopped}: ${operation.matched - operation.done} were left as they are. Mend the reason, then start it again`,
    );
  }
  if (operation.status !== "completed") {
    throw new CommandFailed(
      `the operation is ${operation.status}; for the reason run: npx offload tasks get ${operation.operation_id}`,
    );
  }
  if (operation.failed > 0) {
    throw new CommandFailed(`${operation.failed} of ${operation.matched} failed and were not changed`);
  }
}
