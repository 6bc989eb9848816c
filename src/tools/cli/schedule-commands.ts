import type { AnyTasks, Client, ScheduleChange, ScheduleRule } from "../../client/index.ts";
import type { Tier } from "../../core/model/words.ts";
import { type Answer, firstOf, thing } from "./answer.ts";
import { addTag, type Connection, clientOf, connection, count, limit, operationsOf, take } from "./connection.ts";
import type { Group, Register } from "./group.ts";
import { jsonOf } from "./json-input.ts";
import { asGiven, type Options, valuesOf } from "./options.ts";
import { CommandFailed, UsageError } from "./terminal.ts";

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
`;

const rule = [
  ["--cron <rule>", "minute hour day-of-month month day-of-week, as in crontab"],
  ["--every <seconds>", "interval in seconds, a multiple of 60", count],
  ["--timezone <name>", "time zone of --cron, such as Europe/Berlin; default: UTC"],
  ["--starts-at <time>", "the rule has no times before this one (ISO 8601)"],
  ["--ends-at <time>", "the rule has no times at or after this one (ISO 8601)"],
] as const;

type RuleOptions = Options<typeof rule>;

const type = ["--type <type>", "task type that the schedule submits"] as const;

const task = [
  ["--input <json>", "input of each task"],
  ["--priority <tier>", "tier of each task: critical, high, normal or low", asGiven<Tier>],
] as const;

const afterTask = [
  [
    "--overlap <what>",
    "'allow' or 'skip' a new task while the last one has not ended",
    asGiven<NonNullable<ScheduleChange<AnyTasks>["overlap"]>>,
  ],
  ["--alarm", "each time without a task counts for the alarm on missed schedules"],
] as const;

/** `offload schedules list|show|create|put|change|pause|resume|run|delete|next|preview` */
export const register: Register = (group) => {
  group.help(examples, "operator or admin");
  addList(group);
  addWrite(group, "create", "create a schedule");
  addWrite(group, "put", "create a schedule, or replace it whole: what is not given has its default");
  addPreview(group);
  addChange(group);
  const one = (
    name: string,
    about: string,
    act: (client: Client, id: string, options: Connection) => Promise<Answer>,
  ) =>
    group.add(name, about, [["<schedule>", "name or id of the schedule"], ...connection], async (options, schedule) => {
      const client = clientOf(options);
      return act(client, await idOf(client, schedule), options);
    });
  one("show", "show a schedule", async ({ schedules }, id) => thing(await schedules.get(id)));
  one("pause", "pause a schedule: it submits nothing until it is resumed", async (_, id, options) =>
    thing(await operationsOf(options).pauseSchedule(id)),
  );
  one("resume", "resume a paused schedule; times that it missed stay skipped", async (_, id, options) =>
    thing(await operationsOf(options).resumeSchedule(id)),
  );
  one("run", "submit a schedule's task now", async ({ schedules }, id) => thing(await schedules.run(id)));
  one("delete", "delete a schedule; its tasks stay", async ({ schedules }, id) => {
    await schedules.delete(id);
    return { text: "Deleted." };
  });
};

function ruleOf(options: RuleOptions): ScheduleRule {
  const { every: everySeconds, ...others } = valuesOf(rule, options);
  return { everySeconds, ...others };
}

function addList(group: Group): void {
  group.add("list", "list schedules", [limit("schedules", 100), ...connection], (options) =>
    firstOf(clientOf(options).schedules.list(), options.limit, {
      json: "schedules",
      none: "No schedules.",
      columns: {
        name: "name",
        from: ({ source, for_each_tenant }) => (for_each_tenant ? "code, each tenant" : source),
        rule: ({ cron, every_seconds }) => cron ?? `every ${every_seconds} s`,
        timezone: "timezone",
        task: ({ task: { type } }) => type,
        next: ({ enabled, next_run_at }) => (enabled ? next_run_at : "paused"),
        ...{ last: "last_run_at", skipped: "skipped", error: "last_error" },
      },
    }),
  );
}

/** Adds `create` or `put`. */
function addWrite(group: Group, verb: "create" | "put", about: string): void {
  const all = [
    ["<name>"],
    ...rule,
    [...type, { required: true }],
    ...task,
    ["--tag <name=value>", "tag of each task; repeatable", addTag],
    ...afterTask,
    ["--paused", "the schedule is paused"],
    ...connection,
  ] as const;
  group.add(verb, about, all, async (options, name) => {
    const { type, priority, tag: tags, overlap, alarm } = options;
    const task = { type, input: jsonOf(options.input), priority, tags };
    const given = { ...ruleOf(options), overlap, alarm, enabled: !options.paused, task };
    const { schedules } = clientOf(options);
    return thing(await (verb === "put" ? schedules.put(name, given) : schedules.create({ name, ...given })));
  });
}

const changedParts = [
  type,
  ...task,
  ["--tag <name=value>", "tag of each task, in place of those before; repeatable", addTag],
] as const;

/** Adds `change` and `next`. */
function addChange(group: Group): void {
  const all = [
    ["<schedule>"],
    ...rule,
    ...changedParts,
    ...afterTask,
    ["--no-alarm", "only the third one in a row that --overlap skips counts"],
    ...connection,
  ] as const;
  const about = "change a schedule, by its name or id; --starts-at none and --ends-at none remove a bound";
  group.add("change", about, all, async (options, schedule) => {
    const client = clientOf(options);
    const id = await idOf(client, schedule);
    const { overlap, alarm } = options;
    const change = { ...changedRule(options), overlap, alarm, ...(await changedTask(client, id, options)) };
    if (Object.values(change).every((value) => value === undefined))
      throw new UsageError("nothing to change: give at least one option");
    return thing(await client.schedules.change(id, change));
  });
  const next = "show the next times of a schedule, by its name or id";
  group.add("next", next, [["<schedule>"], times, ...connection], async (options, schedule) => {
    const client = clientOf(options);
    return timesText(await client.schedules.next(await idOf(client, schedule), { count: options.count }));
  });
}

const times = ["--count <n>", "number of times to show, at most 100", { read: count, initial: 5 }] as const;

const timesText = (next: readonly string[]): Answer => ({ json: { next }, text: next.join("\n") || "Never." });

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
  { type, input, priority, tag: tags }: Options<typeof changedParts>,
): Promise<Pick<ScheduleChange<AnyTasks>, "task">> {
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

function addPreview(group: Group): void {
  const start = [
    ["--from <time>", "start of the preview (ISO 8601); default: now"],
    ["--created-at <time>", "creation of the schedule that gets the rule: --every counts from it; default: --from"],
  ] as const;
  const all = [...rule, ...start, times, ...connection] as const;
  group.add("preview", "show the next times of a rule; stores nothing", all, async (options) => {
    const { from, createdAt, count } = options;
    return timesText(await clientOf(options).schedules.preview(ruleOf(options), { from, createdAt, count }));
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
