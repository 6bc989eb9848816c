import type { Command } from "commander";
import {
  type AnyTasks,
  type Client,
  Operations,
  type ScheduleChange,
  type ScheduleRule,
  type ScheduleView,
} from "../client/index.ts";
import type { Tier } from "../core/model/tier.ts";
import { addTag, type Connection, clientOf, connectionOf, count, take, withConnection } from "./client.ts";
import { jsonOf } from "./json-input.ts";
import type { Register } from "./register.ts";
import { describe, type Looks, table } from "./table.ts";
import { CommandFailed, type Terminal, UsageError } from "./terminal.ts";

interface RuleOptions extends Connection {
  cron?: string;
  every?: number;
  timezone?: string;
  startsAt?: string;
  endsAt?: string;
}

interface CreateOptions extends RuleOptions {
  type: string;
  input?: string;
  priority?: Tier;
  tag?: Record<string, string>;
  overlap?: ScheduleChange<AnyTasks>["overlap"];
  alarm?: boolean;
  paused?: boolean;
}

interface ChangeOptions extends Omit<CreateOptions, "type" | "paused"> {
  type?: string;
}

interface PreviewOptions extends RuleOptions {
  from?: string;
  createdAt?: string;
  count: number;
}

const examples = `
Examples:
  npx offload schedules preview --cron "30 2 * * *" --timezone Europe/Berlin
  npx offload schedules create daily-report --cron "0 2 * * MON-FRI" --type report.daily --input '{"days":1}'
  npx offload schedules put daily-report --cron "0 3 * * MON-FRI" --type report.daily --input '{"days":1}'
  npx offload schedules list
  npx offload schedules pause daily-report
  npx offload schedules change daily-report --cron "0 4 * * *" --input '{"days":2}'
  npx offload schedules next daily-report --count 20
  npx offload schedules run daily-report

Schedules in code (tasks/schedules.ts) are listed, too. You can pause, resume and run them; to change one, change the code.

Set OFFLOAD_URL and OFFLOAD_KEY instead of giving --url and --key each time. The key must have the role operator or admin.
`;

/** `offload schedules list|show|create|put|change|pause|resume|run|delete|next|preview` */
export const register: Register = (command, terminal) => {
  command.addHelpText("after", examples);
  addList(command, terminal);
  addCreate(command, terminal);
  addPreview(command, terminal);
  addChange(command, terminal);
  const print = (schedule: ScheduleView, options: Connection) =>
    terminal.out(options.json ? JSON.stringify(schedule, null, 2) : describe(schedule, terminal, options));
  const one = (
    name: string,
    description: string,
    act: (client: Client, scheduleId: string, options: Connection) => Promise<void>,
  ) =>
    withConnection(
      command.command(name).argument("<schedule>", "name or id of the schedule").description(description),
    ).action(async (schedule: string, options: Connection) => {
      const client = clientOf(options);
      await act(client, await idOf(client, schedule), options);
    });
  one("show", "show a schedule", async ({ schedules }, id, options) => print(await schedules.get(id), options));
  one("pause", "pause a schedule: it submits nothing until it is resumed", async (_, id, options) => {
    print(await new Operations(connectionOf(options)).pauseSchedule(id), options);
  });
  one("resume", "resume a paused schedule; times that it missed stay skipped", async (_, id, options) => {
    print(await new Operations(connectionOf(options)).resumeSchedule(id), options);
  });
  one("run", "submit a schedule's task now", async ({ schedules }, id, options) => {
    const task = await schedules.run(id);
    terminal.out(options.json ? JSON.stringify(task, null, 2) : describe(task, terminal, options));
  });
  one("delete", "delete a schedule; its tasks stay", async ({ schedules }, id, { json }) => {
    await schedules.delete(id);
    if (!json) terminal.out("Deleted.");
  });
};

const withRule = (command: Command): Command =>
  command
    .option("--cron <rule>", "minute hour day-of-month month day-of-week, as in crontab")
    .option("--every <seconds>", "interval in seconds, a multiple of 60", count)
    .option("--timezone <name>", "time zone of --cron, such as Europe/Berlin; default: UTC")
    .option("--starts-at <time>", "the rule has no times before this one (ISO 8601)")
    .option("--ends-at <time>", "the rule has no times at or after this one (ISO 8601)");

const ruleOf = (options: RuleOptions): ScheduleRule => ({
  cron: options.cron,
  everySeconds: options.every,
  timezone: options.timezone,
  startsAt: options.startsAt,
  endsAt: options.endsAt,
});

function addList(command: Command, terminal: Terminal): void {
  const list = command
    .command("list")
    .description("list schedules")
    .option("--limit <n>", "maximum number of schedules", count, 100);
  withConnection(list).action(async ({ limit, ...options }: Connection & { limit: number }) => {
    const { items, more } = await take(clientOf(options).schedules.list(), limit);
    if (options.json) terminal.out(JSON.stringify({ schedules: items }, null, 2));
    else terminal.out(items.length === 0 ? "No schedules." : schedulesTable(items, terminal, options));
    if (more) terminal.note(`There are more than ${items.length}: raise --limit.`);
  });
}

function schedulesTable(schedules: readonly ScheduleView[], terminal: Terminal, looks: Looks): string {
  const rows = schedules.map((schedule) => [
    schedule.name,
    schedule.for_each_tenant ? "code, each tenant" : schedule.source,
    schedule.cron ?? `every ${schedule.every_seconds} s`,
    schedule.timezone,
    schedule.task.type,
    schedule.enabled ? schedule.next_run_at : "paused",
    schedule.last_run_at,
    schedule.skipped,
    schedule.last_error,
  ]);
  return table(["name", "from", "rule", "timezone", "task", "next", "last", "skipped", "error"], rows, terminal, looks);
}

function addCreate(command: Command, terminal: Terminal): void {
  const about = {
    create: "create a schedule",
    put: "create a schedule, or replace it whole: what is not given has its default",
  };
  for (const [verb, text] of Object.entries(about)) addWrite(command, terminal, verb as keyof typeof about, text);
}

/** Adds `create` or `put`. */
function addWrite(command: Command, terminal: Terminal, verb: "create" | "put", about: string): void {
  const create = withRule(command.command(`${verb} <name>`).description(about))
    .requiredOption("--type <type>", "task type that the schedule submits")
    .option("--input <json>", "input of each task")
    .option("--priority <tier>", "tier of each task: critical, high, normal or low")
    .option("--tag <name=value>", "tag of each task; repeatable", addTag)
    .option("--overlap <what>", "'allow' or 'skip' a new task while the last one has not ended")
    .option("--alarm", "each time without a task counts for the alarm on missed schedules")
    .option("--paused", "the schedule is paused");
  withConnection(create).action(async (name: string, options: CreateOptions) => {
    const { type, priority, tag: tags, overlap, alarm } = options;
    const task = { type, input: jsonOf(options.input), priority, tags };
    const given = { ...ruleOf(options), overlap, alarm, enabled: !options.paused, task };
    const { schedules } = clientOf(options);
    const schedule = await (verb === "put" ? schedules.put(name, given) : schedules.create({ name, ...given }));
    terminal.out(options.json ? JSON.stringify(schedule, null, 2) : describe(schedule, terminal, options));
  });
}

/** Adds `change` and `next`. */
function addChange(command: Command, terminal: Terminal): void {
  const about = "change a schedule, by its name or id; --starts-at none and --ends-at none remove a bound";
  const change = withRule(command.command("change <schedule>").description(about))
    .option("--type <type>", "task type that the schedule submits")
    .option("--input <json>", "input of each task")
    .option("--priority <tier>", "tier of each task: critical, high, normal or low")
    .option("--tag <name=value>", "tag of each task, in place of those before; repeatable", addTag)
    .option("--overlap <what>", "'allow' or 'skip' a new task while the last one has not ended")
    .option("--alarm", "each time without a task counts for the alarm on missed schedules")
    .option("--no-alarm", "only the third one in a row that --overlap skips counts");
  withConnection(change).action(async (schedule: string, options: ChangeOptions) => {
    const client = clientOf(options);
    const id = await idOf(client, schedule);
    const { overlap, alarm } = options;
    const change = { ...changedRule(options), overlap, alarm, ...(await changedTask(client, id, options)) };
    if (Object.values(change).every((value) => value === undefined))
      throw new UsageError("nothing to change: give at least one option");
    const changed = await client.schedules.change(id, change);
    terminal.out(options.json ? JSON.stringify(changed, null, 2) : describe(changed, terminal, options));
  });
  const next = command
    .command("next <schedule>")
    .description("show the next times of a schedule, by its name or id")
    .option("--count <n>", "number of times to show, at most 100", count, 5);
  withConnection(next).action(async (schedule: string, options: Connection & { count: number }) => {
    const client = clientOf(options);
    const times = await client.schedules.next(await idOf(client, schedule), { count: options.count });
    if (options.json) return terminal.out(JSON.stringify({ next: times }, null, 2));
    terminal.out(times.length === 0 ? "Never." : times.join("\n"));
  });
}

/** A rule has a cron or an interval: the given one takes the place of the other. */
function changedRule(options: RuleOptions): ScheduleRule {
  const rule = { ...ruleOf(options), startsAt: boundOf(options.startsAt), endsAt: boundOf(options.endsAt) };
  if (rule.cron !== undefined && rule.everySeconds === undefined) return { ...rule, everySeconds: null };
  if (rule.everySeconds !== undefined && rule.cron === undefined) return { ...rule, cron: null };
  return rule;
}

/** A bound of a rule. `none` takes the present one away. */
const boundOf = (given: string | undefined): string | null | undefined => (given === "none" ? null : given);

/** The schedule's task with the given changes, as the API takes it whole. */
async function changedTask(
  client: Client,
  id: string,
  options: ChangeOptions,
): Promise<Pick<ScheduleChange<AnyTasks>, "task">> {
  const { type, input, priority, tag: tags } = options;
  if ([type, input, priority, tags].every((given) => given === undefined)) return {};
  const { task } = await client.schedules.get(id);
  return {
    task: {
      type: type ?? task.type,
      input: input === undefined ? task.input : jsonOf(input),
      priority: priority ?? task.priority ?? undefined,
      tags: tags ?? task.tags,
      maxAttempts: task.max_attempts,
      expiresInSeconds: task.expires_in_seconds,
      retentionSeconds: task.retention_seconds,
    },
  };
}

function addPreview(command: Command, terminal: Terminal): void {
  const preview = withRule(command.command("preview").description("show the next times of a rule; stores nothing"))
    .option("--from <time>", "start of the preview (ISO 8601); default: now")
    .option(
      "--created-at <time>",
      "creation of the schedule that gets the rule: --every counts from it; default: --from",
    )
    .option("--count <n>", "number of times to show, at most 100", count, 5);
  withConnection(preview).action(async (options: PreviewOptions) => {
    const { from, createdAt, count } = options;
    const next = await clientOf(options).schedules.preview(ruleOf(options), { from, createdAt, count });
    if (options.json) return terminal.out(JSON.stringify({ next }, null, 2));
    terminal.out(next.length === 0 ? "Never." : next.join("\n"));
  });
}

/** Id of the schedule with this id or name. */
async function idOf(client: Client, schedule: string): Promise<string> {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(schedule)) return schedule;
  const { items } = await take(client.schedules.list(), 10_000);
  const [found, other] = items.filter(({ name }) => name === schedule);
  if (found === undefined) throw new CommandFailed(`there is no schedule named ${JSON.stringify(schedule)}`);
  if (other !== undefined) {
    throw new CommandFailed(
      `two schedules are named ${JSON.stringify(schedule)}: give the id, ${found.schedule_id} (${found.source}) or ${other.schedule_id} (${other.source})`,
    );
  }
  return found.schedule_id;
}
