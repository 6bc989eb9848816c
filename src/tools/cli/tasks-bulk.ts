import type { StartedOperation, TaskSelection, TaskView } from "../../client/index.ts";
import type { Status, Tier } from "../../core/model/words.ts";
import { type Answer, thing } from "./answer.ts";
import { addTag, clientOf, connection, operationsOf } from "./connection.ts";
import type { Group } from "./group.ts";
import { readInput } from "./json-input.ts";
import {
  addOperation,
  type OperationOptions,
  perSecond,
  selecting,
  selectionOf,
  startOperation,
} from "./operation-commands.ts";
import { asGiven, type Options, valuesOf } from "./options.ts";
import { UsageError } from "./terminal.ts";

/** Filters of each list of tasks. */
export const someTasks = [
  ["--type <type>", "only tasks of this type"],
  ["--priority <tier>", "only this tier: critical, high, normal or low", asGiven<Tier>],
  ["--tag <name=value>", "only tasks with this tag; repeatable", addTag],
  ["--created-after <time>", "created at or after this time (ISO 8601)"],
  ["--created-before <time>", "created before this time (ISO 8601)"],
] as const;

const filter = [
  ["--status <status>", "only tasks with this status", asGiven<Status>],
  ["--retrying", "only tasks that wait for another attempt after a failed one"],
  ...someTasks,
] as const;

const allOf = (all: string) => [["[task_ids...]"], ...filter, ...selecting(all, "tasks"), ...connection] as const;

const now = [
  "--now",
  "end an attempt that has not stopped after 5 s with its process; the others in it start again elsewhere",
] as const;

const input = [
  "--input <json>",
  "for one task: its input from now on, as JSON, @file, or - for the standard input",
] as const;

/** Adds the commands that cancel, retry and run one task or many. */
export function addBulk(group: Group): void {
  const cancels = "cancel a task that has not ended; or many, by ids or by filter";
  const open = allOf("all tasks of the tenant that have not ended");
  group.add("cancel", cancels, [...open, now], (options, ids) =>
    act(group, "cancel", ids, options, {
      one: (id) => (options.now ? operationsOf(options).cancelNow(id) : clientOf(options).cancel(id)),
      many: (selection) => operationsOf(options).cancelTasks(selection, { now: options.now }),
    }),
  );
  const retries = "retry a failed task with a new round of attempts; or many, by ids or by filter";
  const failed = allOf("all failed tasks of the tenant");
  group.add("retry", retries, [...failed, perSecond, input], (options, ids) =>
    act(group, "retry", ids, options, {
      one: async (id) => {
        const client = clientOf(options);
        const given = options.input;
        return client.retry(id, given === undefined ? {} : { input: await readInput(given, group.terminal) });
      },
      many: (selection) => operationsOf(options).retryTasks(selection, { perSecond: options.perSecond }),
    }),
  );
  const runs = "run a task now that waits for a retry or the end of its delay; or many, by ids or by filter";
  const waiting = allOf("all tasks of the tenant that wait for their time");
  const run = group.add("run-now", runs, [...waiting, perSecond], (options, ids) =>
    act(group, "run-now", ids, options, {
      one: (id) => operationsOf(options).runNow(id),
      many: (selection) => operationsOf(options).runTasksNow(selection, { perSecond: options.perSecond }),
    }),
  );
  run.alias("run");
  addOperation(group, "a cancel, retry or run-now of many tasks");
}

interface Calls {
  one(id: string): Promise<TaskView>;
  many(selection: TaskSelection): Promise<StartedOperation>;
}

async function act(
  { terminal }: Group,
  action: "cancel" | "retry" | "run-now",
  ids: string[],
  options: OperationOptions & Options<typeof filter> & { input?: string },
  { one, many }: Calls,
): Promise<Answer | undefined> {
  const [id] = ids;
  const { tag: tags, ...others } = valuesOf(filter, options);
  const select = () => selectionOf(ids, { ...others, tags }, options, "tasks");
  if (id !== undefined && ids.length === 1 && !options.dryRun && !options.wait) {
    select();
    return thing(await one(id));
  }
  if (options.input !== undefined) throw new UsageError("--input is for one task id, without --dry-run and --wait");
  const selection = select();
  const count = () => operationsOf(options).dryRun(action, selection);
  return startOperation(terminal, { group: "tasks", action, count, start: () => many(selection) }, options);
}
