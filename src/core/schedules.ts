import { nextTime, rateStart, toExpression } from "./calendar.ts";
import type { KnownType } from "./catalog.ts";
import { RuleRefused } from "./cron.ts";
import { largestEnvelopeBytes } from "./envelope.ts";
import { PortUnavailable } from "./errors.ts";
import { fingerprint } from "./idempotency.ts";
import type { Clock, Identity, Rules, SchedulerRule, Schedules } from "./ports.ts";
import { Problem } from "./problem.ts";
import { iso, type TaskRecord } from "./record.ts";
import {
  type changeSchema,
  type ScheduleDefinition,
  type ScheduledTask,
  type ScheduleKey,
  type ScheduleRecord,
  ruleOf,
  scheduleIdOf,
} from "./schedule.ts";
import { checkTask, type SubmitCall, type SubmitPorts, submit } from "./submit.ts";
import type * as z from "zod";

export interface SchedulePorts {
  clock: Clock;
  schedules: Schedules;
  rules: Rules;
}

export interface ScheduleWritePorts extends SchedulePorts {
  /** The types that a schedule may submit. */
  types: ReadonlyMap<string, KnownType>;
}

/** How often a step tries again when the schedule changes under it. */
const mostTries = 5;

/** What an envelope has beside the input. */
const envelopeFrameBytes = 1024;

/** The one problem for a schedule that does not exist and for one that is somebody else's. */
export const noSuchSchedule = () => new Problem("not_found", "No such schedule.");

const tooFast = () => new PortUnavailable("the schedule, which changes too fast,");

/** @throws Problem `not_found` */
export async function findSchedule(ports: { schedules: Schedules }, key: ScheduleKey): Promise<ScheduleRecord> {
  const schedule = await ports.schedules.get(key);
  if (schedule?.state !== "ready") throw noSuchSchedule();
  return schedule;
}

/**
 * Creates a schedule: check, write the record, give EventBridge Scheduler the rule, and only then let the record count. A
 * create that fails in between leaves nothing that submits, and can be repeated. The same name and body again give the
 * schedule that is there.
 * @throws Problem `invalid_input`, `unknown_task_type`, `too_large`, `conflict`; PortUnavailable
 */
export async function createSchedule(
  ports: ScheduleWritePorts,
  identity: Identity,
  definition: ScheduleDefinition,
): Promise<{ schedule: ScheduleRecord; created: boolean }> {
  const made = newSchedule(ports, identity, definition);
  checkScheduledTask(ports, definition.task);
  checkTimes(ports, made);
  const existing = await ports.schedules.create(made);
  if (existing === undefined) return { schedule: await finishCreate(ports, made), created: true };
  const same = existing.request_hash === made.request_hash || definitionHash(existing) === made.request_hash;
  if (existing.state === "ready") {
    if (same) return { schedule: existing, created: false };
    throw new Problem("conflict", `There is another schedule named ${JSON.stringify(made.name)}.`);
  }
  // Nobody was told of a schedule that is not ready.
  if (existing.state === "creating" && same) return { schedule: await finishCreate(ports, existing), created: true };
  const revision = nextRevision(ports, existing);
  const instead = { ...made, revision, rule_revision: revision };
  if (!(await ports.schedules.replace(instead, existing.revision))) throw tooFast();
  return { schedule: await finishCreate(ports, instead), created: true };
}

function newSchedule(ports: SchedulePorts, identity: Identity, definition: ScheduleDefinition): ScheduleRecord {
  const revision = ports.clock.now();
  const now = iso(revision);
  return {
    ...definition,
    tenant_id: identity.tenantId,
    schedule_id: scheduleIdOf(identity.tenantId, definition.name),
    state: "creating",
    revision,
    rule_revision: revision,
    request_hash: definitionHash(definition),
    created_by: identity.principal,
    created_at: now,
    updated_at: now,
    enabled_since: now,
    skipped: 0,
    skips: [],
  };
}

const definitionHash = ({ name, enabled, overlap, task, ...rule }: ScheduleDefinition): string =>
  fingerprint([name, enabled, overlap, task, ruleOf(rule)]);

/** Times as numbers also order the revisions of a schedule that is deleted and created again. */
const nextRevision = (ports: SchedulePorts, { revision }: ScheduleRecord): number =>
  Math.max(ports.clock.now(), revision + 1);

/** @throws Problem `unknown_task_type`, `invalid_input`, `too_large` */
function checkScheduledTask(ports: ScheduleWritePorts, task: ScheduledTask): void {
  checkTask(ports.types, task, ["task"]);
  const most = largestEnvelopeBytes - envelopeFrameBytes;
  const bytes = Buffer.byteLength(JSON.stringify(task.input ?? null));
  if (bytes > most) throw new Problem("too_large", `task.input has ${bytes} bytes; at most ${most} fit.`);
}

/** Refuses a rule without any time left, which would only look like a schedule. */
function checkTimes(ports: SchedulePorts, schedule: ScheduleRecord): void {
  if (schedule.ends_at === undefined || nextTime(schedule, schedule.created_at, ports.clock.now())) return;
  const message = "expected a time that leaves the schedule at least one time to run at";
  throw new Problem("invalid_input", `ends_at: ${message}.`, { errors: [{ path: "/ends_at", message }] });
}

async function finishCreate(ports: SchedulePorts, schedule: ScheduleRecord): Promise<ScheduleRecord> {
  try {
    await align(ports, schedule);
  } catch (error) {
    await undo(async () => {
      if (await ports.schedules.delete(schedule, schedule.revision)) await align(ports, schedule);
    });
    throw asProblem(error);
  }
  const ready: ScheduleRecord = { ...schedule, state: "ready", revision: nextRevision(ports, schedule) };
  if (await ports.schedules.replace(ready, schedule.revision)) return ready;
  // The same request came twice, and the other one was faster.
  const other = await ports.schedules.get(schedule);
  if (other?.state === "ready" && other.request_hash === schedule.request_hash) return other;
  throw tooFast();
}

/**
 * Makes the rule in EventBridge Scheduler follow the record, and looks again until the record did not change meanwhile: of
 * two writers at once, whoever comes last leaves the rule of the record that stays.
 * @throws PortUnavailable, RuleRefused
 */
export async function align(ports: SchedulePorts, key: ScheduleKey): Promise<void> {
  for (let tries = 0; tries < mostTries; tries++) {
    const before = await ports.schedules.get(key);
    const rule = before === undefined ? undefined : schedulerRule(before, ports.clock.now());
    await (rule === undefined ? ports.rules.delete(key.schedule_id) : ports.rules.put(rule));
    const after = await ports.schedules.get(key);
    if (after?.rule_revision === before?.rule_revision && after?.state === before?.state) return;
  }
  throw tooFast();
}

/** The rule that a record asks for; undefined when it asks for none. */
export function schedulerRule(schedule: ScheduleRecord, nowMs: number): SchedulerRule | undefined {
  const { tenant_id, schedule_id, rule_revision, ends_at } = schedule;
  const over = ends_at !== undefined && Date.parse(ends_at) <= nowMs;
  if (schedule.state === "deleting" || over) return undefined;
  const startAt = startOf(schedule, nowMs);
  return {
    name: schedule_id,
    expression: toExpression(schedule),
    timezone: schedule.timezone,
    ...(startAt === undefined ? {} : { startAt }),
    ...(ends_at === undefined ? {} : { endAt: ends_at }),
    enabled: schedule.enabled,
    payload: { kind: "schedule", tenant_id, schedule_id, rule_revision },
  };
}

/** EventBridge Scheduler refuses a start that is long past. A rate counts from its start, so it gets its own next time. */
function startOf(schedule: ScheduleRecord, nowMs: number): string | undefined {
  if (schedule.cron !== undefined) {
    return schedule.starts_at !== undefined && Date.parse(schedule.starts_at) > nowMs ? schedule.starts_at : undefined;
  }
  const unbounded = { every_seconds: schedule.every_seconds ?? 60, timezone: schedule.timezone };
  const first = iso(rateStart(schedule, schedule.created_at));
  return nextTime({ ...unbounded, starts_at: first }, schedule.created_at, nowMs);
}

/**
 * Changes a schedule. A change whose rule cannot be given to EventBridge Scheduler is taken back.
 * @throws Problem `not_found`, `invalid_input`, `unknown_task_type`, `too_large`; PortUnavailable
 */
export async function changeSchedule(
  ports: ScheduleWritePorts,
  key: ScheduleKey,
  change: z.output<typeof changeSchema>,
  check: (definition: object) => ScheduleDefinition,
): Promise<ScheduleRecord> {
  if (change.task !== undefined) checkScheduledTask(ports, change.task);
  const write = (current: ScheduleRecord): ScheduleRecord => {
    const definition = check(merged(current, change));
    const revision = nextRevision(ports, current);
    const now = iso(ports.clock.now());
    const resumed = definition.enabled && !current.enabled;
    const { cron: _, every_seconds: __, starts_at: ___, ends_at: ____, ...kept } = current;
    const next = {
      ...kept,
      ...definition,
      revision,
      rule_revision: revision,
      updated_at: now,
      enabled_since: resumed ? now : current.enabled_since,
    };
    if (fingerprint(ruleOf(next)) !== fingerprint(ruleOf(current))) checkTimes(ports, next);
    return next;
  };
  const { before, after } = await rewrite(ports, key, write);
  await alignOrRevert(ports, before, after);
  return after;
}

/** The definition as the change would have it: a rule of the one kind drops the other. */
function merged(current: ScheduleRecord, change: z.output<typeof changeSchema>): object {
  const { name, enabled, overlap, task } = current;
  const rule = { cron: current.cron, every_seconds: current.every_seconds, ...bounds(current) };
  if (change.cron !== undefined && change.every_seconds === undefined) rule.every_seconds = undefined;
  if (change.every_seconds !== undefined && change.cron === undefined) rule.cron = undefined;
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  return { name, enabled, overlap, task, ...rule, ...Object.fromEntries(given) };
}

const bounds = ({ timezone, starts_at, ends_at }: ScheduleRecord) => ({ timezone, starts_at, ends_at });

/**
 * Deletes a schedule: nothing is submitted any more once this returns.
 * @throws Problem `not_found`; PortUnavailable
 */
export async function deleteSchedule(ports: SchedulePorts, key: ScheduleKey): Promise<void> {
  const { before, after } = await rewrite(ports, key, (current) => {
    const revision = nextRevision(ports, current);
    return { ...current, state: "deleting", revision, rule_revision: revision };
  });
  await alignOrRevert(ports, before, after);
  await ports.schedules.delete(after, after.revision);
}

/** Submits the schedule's task now, whatever its rule says, in the name of whoever asks. */
export async function runSchedule(
  ports: SchedulePorts & SubmitPorts,
  key: ScheduleKey,
  call: Omit<SubmitCall, "body" | "schedule">,
): Promise<{ record: TaskRecord; replayed: boolean }> {
  const schedule = await findSchedule(ports, key);
  const accepted = await submit(ports, {
    ...call,
    body: schedule.task,
    schedule: { scheduleId: schedule.schedule_id },
  });
  await noteRun(ports, key, accepted.record);
  return accepted;
}

/** The task is accepted, whether or not the schedule can say so. */
const noteRun = (ports: SchedulePorts, key: ScheduleKey, { task_id, created_at }: TaskRecord): Promise<void> =>
  undo(async () => {
    await rewrite(ports, key, (current) => ({
      ...current,
      revision: nextRevision(ports, current),
      ...((current.last_run_at ?? "") <= created_at ? { last_run_at: created_at, last_task_id: task_id } : {}),
    }));
  });

/** Reads, rewrites and stores a schedule that is ready; again when somebody else was faster. */
async function rewrite(
  ports: SchedulePorts,
  key: ScheduleKey,
  write: (current: ScheduleRecord) => ScheduleRecord,
): Promise<{ before: ScheduleRecord; after: ScheduleRecord }> {
  for (let tries = 0; tries < mostTries; tries++) {
    const before = await findSchedule(ports, key);
    const after = write(before);
    if (await ports.schedules.replace(after, before.revision)) return { before, after };
  }
  throw tooFast();
}

/** A write that EventBridge Scheduler cannot follow is taken back, unless the table is down too: then fire mends the rule. */
async function alignOrRevert(ports: SchedulePorts, before: ScheduleRecord, after: ScheduleRecord): Promise<void> {
  try {
    await align(ports, after);
  } catch (error) {
    const revision = nextRevision(ports, after);
    await undo(() => ports.schedules.replace({ ...before, revision, rule_revision: revision }, after.revision));
    throw asProblem(error);
  }
}

/** Does what is good to have done, as far as it can be done now. */
async function undo(step: () => Promise<unknown>): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (!(error instanceof PortUnavailable || error instanceof Problem)) throw error;
  }
}

const asProblem = (error: unknown): unknown =>
  error instanceof RuleRefused
    ? new Problem("invalid_input", `cron: EventBridge Scheduler refuses the rule: ${error.message}`, {
        errors: [{ path: "/cron", message: error.message }],
        cause: error,
      })
    : error;
