import type { Command } from "commander";
import { type BulkFilter, Operations, type TaskView } from "../client/index.ts";
import { addTag, clientOf, connectionOf, count, withConnection } from "./client.ts";
import { readInput } from "./json-input.ts";
import { addOperation, type OperationOptions, selectsByIds, startOperation, withOperation } from "./operation.ts";
import { type Terminal, UsageError } from "./terminal.ts";

interface BulkOptions extends OperationOptions, Pick<BulkFilter, "status" | "retrying" | "type" | "priority"> {
  tag?: Record<string, string>;
  createdAfter?: string;
  createdBefore?: string;
  input?: string;
  now?: boolean;
}

type Action = "cancel" | "retry" | "run-now";

/** Adds the commands that cancel, retry and run one task or many. */
export function addBulk(
  group: Command,
  terminal: Terminal,
  show: (task: TaskView, options: OperationOptions) => void,
): void {
  addAction(group, terminal, "cancel", show).option(
    "--now",
    "end an attempt that has not stopped after 5 s with its process; the others in it start again elsewhere",
  );
  addAction(group, terminal, "retry", show)
    .option("--per-second <n>", "maximum number per second, 1 to 100", count)
    .option("--input <json>", "for one task: its input from now on, as JSON, @file, or - for the standard input");
  addAction(group, terminal, "run-now", show)
    .alias("run")
    .option("--per-second <n>", "maximum number per second, 1 to 100", count);
  addOperation(group, terminal, "a cancel, retry or run-now of many tasks");
}

const texts = {
  cancel: {
    description: "cancel a task that has not ended; or many, by ids or by filter",
    all: "all tasks of the tenant that have not ended",
  },
  retry: {
    description: "retry a failed task with a new round of attempts; or many, by ids or by filter",
    all: "all failed tasks of the tenant",
  },
  "run-now": {
    description: "run a task now that waits for a retry or the end of its delay; or many, by ids or by filter",
    all: "all tasks of the tenant that wait for their time",
  },
} as const;

function addAction(
  group: Command,
  terminal: Terminal,
  action: Action,
  show: (task: TaskView, options: OperationOptions) => void,
): Command {
  const { description, all } = texts[action];
  const command = group
    .command(`${action} [task_ids...]`)
    .description(description)
    .option("--status <status>", "only tasks with this status")
    .option("--retrying", "only tasks that wait for another attempt after a failed one")
    .option("--type <type>", "only tasks of this type")
    .option("--priority <tier>", "only this tier: critical, high, normal or low")
    .option("--tag <name=value>", "only tasks with this tag; repeatable", addTag)
    .option("--created-after <time>", "created at or after this time (ISO 8601)")
    .option("--created-before <time>", "created before this time (ISO 8601)");
  return withConnection(withOperation(command, { all, one: "tasks" })).action(
    async (ids: string[], options: BulkOptions) => {
      const [id] = ids;
      const isOne = id !== undefined && ids.length === 1 && !options.dryRun && !options.wait;
      if (isOne && selectsByIds(ids, filterOf(options), options, "tasks")) {
        return show(await actOnOne(terminal, action, id, options), options);
      }
      if (options.input !== undefined) throw new UsageError("--input is for one task id, without --dry-run and --wait");
      return runBulk(terminal, action, ids, options);
    },
  );
}

async function actOnOne(terminal: Terminal, action: Action, id: string, options: BulkOptions): Promise<TaskView> {
  if (action === "run-now") return new Operations(connectionOf(options)).runNow(id);
  if (options.now) return new Operations(connectionOf(options)).cancelNow(id);
  const client = clientOf(options);
  if (action === "cancel") return client.cancel(id);
  return client.retry(id, options.input === undefined ? {} : { input: await readInput(options.input, terminal) });
}

const filterOf = (options: BulkOptions): BulkFilter => ({
  status: options.status,
  retrying: options.retrying,
  type: options.type,
  priority: options.priority,
  tags: options.tag,
  createdAfter: options.createdAfter,
  createdBefore: options.createdBefore,
});

function runBulk(terminal: Terminal, action: Action, taskIds: string[], options: BulkOptions): Promise<void> {
  const filter = filterOf(options);
  const selection = selectsByIds(taskIds, filter, options, "tasks") ? { taskIds } : { filter };
  const operations = new Operations(connectionOf(options));
  const { perSecond, now } = options;
  const starts = {
    cancel: () => operations.cancelTasks(selection, { now }),
    retry: () => operations.retryTasks(selection, { perSecond }),
    "run-now": () => operations.runTasksNow(selection, { perSecond }),
  };
  const start = starts[action];
  const starting = { group: "tasks", action, count: () => operations.dryRun(action, selection), start } as const;
  return startOperation(terminal, starting, options);
}
