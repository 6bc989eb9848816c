import type * as z from "zod";
import type { Gate } from "../limits/gate.ts";
import { messageText } from "../model/envelope.ts";
import { fieldProblem } from "../model/field-problem.ts";
import { fingerprint } from "../model/idempotency.ts";
import { parseInput } from "../model/invalid.ts";
import { Problem } from "../model/problem.ts";
import { iso } from "../model/record.ts";
import type { Identity } from "../model/words.ts";
import { checkTask } from "../pipeline/submit/check-input.ts";
import { submit } from "../pipeline/submit/submit.ts";
import type { Accepted, SubmitCall, SubmitPorts } from "../pipeline/submit/submit-ports.ts";
import type { KnownType } from "../task/catalog.ts";
import {
  align,
  alignOrRevert,
  bestEffort,
  changesTooFast,
  findSchedule,
  isAbandoned,
  nextRevision,
  orConflict,
  rewrite,
  type SchedulePorts,
} from "./align.ts";
import { nextTime } from "./calendar.ts";
import { changeSchema, definitionSchema, ruleOf, type ScheduleDefinition, type ScheduledTask } from "./definition.ts";
import { type CodeNames, refuseCodeName } from "./manage-app-schedules.ts";
import type { RuleChecks } from "./ports.ts";
import { type ScheduleKey, type ScheduleRecord, scheduleIdOf } from "./schedule-record.ts";

/** Without the names of the code's schedules, none is refused. */
export interface ScheduleWritePorts extends SchedulePorts, Partial<CodeNames> {
  checks: RuleChecks;
  /** The types that a schedule may submit. */
  types: ReadonlyMap<string, KnownType>;
  /** Knows how many schedules a tenant may have. Default: as many as it likes. */
  gate?: Pick<Gate, "schedulesOf">;
}

/** Largest input of a schedule, in bytes of its JSON: the schedule is one item of the table, which holds 400 KB. */
const largestScheduledInputBytes = 256 * 1024;

/**
 * Creates a schedule: checks it, requests a later check of its rule, writes the record, creates the rule in EventBridge
 * Scheduler, and only then sets the record to `ready`. A create that fails in between leaves nothing that submits, and
 * can be repeated. A repeat with the same name and body returns the existing schedule.
 * @throws Problem `invalid_input`, `unknown_task_type`, `too_large`, `conflict`, `quota_exceeded`, `defined_in_code`;
 * PortUnavailable
 */
export async function createSchedule(ports: ScheduleWritePorts, identity: Identity, body: unknown): Promise<Created> {
  return createDefined(ports, identity, parseInput(definitionSchema, body));
}

async function createDefined(
  ports: ScheduleWritePorts,
  identity: Identity,
  definition: ScheduleDefinition,
): Promise<Created> {
  refuseCodeName(ports, identity.tenantId, definition.name);
  const version = await checkScheduledTask(ports, definition.task);
  const made = { ...newSchedule(ports, identity, definition), ...version };
  checkTimes(ports, made);
  const before = await ports.schedules.get(made);
  if (before?.state === "ready") return { schedule: sameOrConflict(before, made), created: false };
  if (before === undefined) await checkRoom(ports, made.tenant_id);
  await ports.checks.request(keyOf(made));
  return orConflict(async () => {
    for (let tries = 0; tries < maxCreates; tries++) {
      const written = await writeNew(ports, made);
      if (written !== undefined) return written;
    }
    throw changesTooFast();
  });
}

/**
 * Counts the tenant's schedules. Of creates at the same moment, each may find the same room, so that some more come to
 * be.
 * @throws Problem `quota_exceeded`
 */
async function checkRoom(ports: ScheduleWritePorts, tenantId: string): Promise<void> {
  const bound = (await ports.gate?.schedulesOf(tenantId)) ?? null;
  if (bound === null || (await countSchedules(ports, tenantId, bound)) < bound) return;
  throw new Problem("quota_exceeded", `This tenant already has ${bound} schedules, its limit.`, {
    retryAfterSeconds: 3_600,
  });
}

/** Counts a tenant's schedules, up to `max`. */
async function countSchedules({ schedules }: SchedulePorts, tenantId: string, max: number): Promise<number> {
  let count = 0;
  let from: string | undefined;
  while (count < max) {
    const page = await schedules.list(tenantId, { limit: Math.min(100, max - count), from });
    count += page.items.length;
    from = page.next;
    if (from === undefined) break;
  }
  return count;
}

/** Number of tries to create a schedule while others create and delete one with its name. */
const maxCreates = 5;

interface Created {
  schedule: ScheduleRecord;
  /** False when the schedule was there, or when another request with the same body made it at the same time. */
  created: boolean;
}

/**
 * Writes a new schedule, or goes on with the schedule that another request with the same body has begun. Of many at
 * once, one makes it.
 * @returns Undefined: another request changed it at the same time.
 * @throws Problem `conflict`
 */
async function writeNew(ports: ScheduleWritePorts, made: ScheduleRecord): Promise<Created | undefined> {
  const existing = await ports.schedules.create(made);
  if (existing === undefined) return activate(ports, made);
  if (existing.state === "ready") return { schedule: sameOrConflict(existing, made), created: false };
  if (existing.state === "creating") {
    if (existing.request_hash === made.request_hash) return activate(ports, existing);
    // Its own request is about to end, and has the name.
    if (!isAbandoned(ports, existing)) sameOrConflict(existing, made);
  }
  // No client has seen a schedule that is not ready, so it may be replaced.
  const revision = nextRevision(ports, existing);
  const replacement = { ...made, revision, rule_revision: revision };
  if (!(await ports.schedules.replace(replacement, existing.revision))) return undefined;
  return activate(ports, replacement);
}

const keyOf = ({ tenant_id, schedule_id }: ScheduleKey): ScheduleKey => ({ tenant_id, schedule_id });

/**
 * Returns the existing schedule if its definition is the same now, whatever it was when it was created.
 * @throws Problem `conflict`
 */
function sameOrConflict(existing: ScheduleRecord, made: ScheduleRecord): ScheduleRecord {
  if (definitionHash(existing) === made.request_hash) return existing;
  throw new Problem("conflict", `Another schedule already has the name ${JSON.stringify(made.name)}.`, {
    extra: { schedule_id: existing.schedule_id },
  });
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
    ...(!definition.enabled && { paused_since: now, paused_by: identity.principal }),
    fired: [],
    skipped: 0,
    skips: [],
  };
}

const definitionHash = ({ name, enabled, overlap, alarm, task, ...rule }: ScheduleDefinition): string =>
  fingerprint([name, enabled, overlap, task, ruleOf(rule), ...(alarm ? ["alarm"] : [])]);

type InputVersion = Pick<ScheduleRecord, "input_version">;

/**
 * Checks a task, and returns the version of its input for the record.
 * @throws Problem `unknown_task_type`, `invalid_input`, `too_large`
 */
async function checkScheduledTask(ports: ScheduleWritePorts, task: ScheduledTask): Promise<InputVersion> {
  const { version } = await checkTask(ports.types, task, ["task"]);
  const max = largestScheduledInputBytes;
  const bytes = Buffer.byteLength(messageText(task.input ?? null));
  if (bytes > max) throw new Problem("too_large", `task.input has ${bytes} bytes. The limit is ${max} bytes.`);
  return version === 1 ? {} : { input_version: version };
}

/** Refuses a rule whose bounds leave no time. */
function checkTimes(ports: SchedulePorts, schedule: ScheduleRecord): void {
  const { starts_at, ends_at, created_at } = schedule;
  if (starts_at === undefined && ends_at === undefined) return;
  if (nextTime(schedule, created_at, ports.clock.now()) !== undefined) return;
  const [field, message] =
    ends_at === undefined
      ? ["starts_at", "expected a time before the schedule's last possible run"]
      : ["ends_at", "expected a time after the schedule's next run"];
  throw fieldProblem(field, message);
}

/**
 * Creates the rule of a new schedule, and sets its record to `ready`.
 * @returns Undefined: another request changed it at the same time.
 */
async function activate(ports: SchedulePorts, schedule: ScheduleRecord): Promise<Created | undefined> {
  await alignOrRevert(ports, schedule, async () => {
    if (await ports.schedules.delete(schedule, schedule.revision)) await align(ports, schedule);
  });
  const ready: ScheduleRecord = { ...schedule, state: "ready", revision: nextRevision(ports, schedule) };
  if (await ports.schedules.replace(ready, schedule.revision)) return { schedule: ready, created: true };
  // Another request with the same body may have set the record to `ready` first.
  const other = await ports.schedules.get(schedule);
  return other?.state === "ready" ? { schedule: sameOrConflict(other, schedule), created: false } : undefined;
}

/**
 * Changes a schedule: replaces each given field. Reverts the change when the rule in EventBridge Scheduler cannot be
 * changed.
 * @param principal The caller, noted with a pause. Default: nobody.
 * @throws Problem `not_found`, `invalid_input`, `unknown_task_type`, `too_large`, `conflict`; PortUnavailable
 */
export async function changeSchedule(
  ports: ScheduleWritePorts,
  key: ScheduleKey,
  body: unknown,
  principal?: string,
): Promise<ScheduleRecord> {
  const change = parseInput(changeSchema, body);
  const version = change.task === undefined ? undefined : await checkScheduledTask(ports, change.task);
  return changeWith(ports, key, (current) => withChange(ports, current, { change, version, principal }));
}

async function changeWith(
  ports: ScheduleWritePorts,
  key: ScheduleKey,
  next: (current: ScheduleRecord) => ScheduleRecord,
): Promise<ScheduleRecord> {
  // Checks the change first, so that a refused one requests no check of the rule.
  next(await findSchedule(ports, key));
  await ports.checks.request(keyOf(key));
  const { before, after } = await orConflict(() => rewrite(ports, key, next));
  await alignOrRevert(ports, after, () => revert(ports, before, after));
  return after;
}

type Change = z.output<typeof changeSchema>;

interface Changing {
  change: Change;
  /** Version of the new task's input. Undefined: the task does not change. */
  version: InputVersion | undefined;
  principal: string | undefined;
}

/**
 * Creates the schedule of a name, or replaces its whole definition. A repeat of the same one writes nothing. Of several
 * at once, the last write counts.
 * @throws Problem as `createSchedule`, but no conflict with another definition; PortUnavailable
 */
export async function putSchedule(
  ports: ScheduleWritePorts,
  identity: Identity,
  name: string,
  body: object,
): Promise<Created> {
  const definition = parseInput(definitionSchema, { ...body, name });
  refuseCodeName(ports, identity.tenantId, name);
  const version = await checkScheduledTask(ports, definition.task);
  const key = { tenant_id: identity.tenantId, schedule_id: scheduleIdOf(identity.tenantId, name) };
  const whole = { version, principal: identity.principal };
  for (let tries = 1; ; tries++) {
    try {
      const existing = await ports.schedules.get(key);
      if (existing?.state !== "ready") return await createDefined(ports, identity, definition);
      const isSame = definitionHash(existing) === definitionHash(definition);
      if (isSame && existing.input_version === version.input_version) return { schedule: existing, created: false };
      const next = (current: ScheduleRecord) => withDefinition(ports, current, definition, whole);
      return { schedule: await changeWith(ports, key, next), created: false };
    } catch (error) {
      // Another request created or deleted it at the same time.
      const isRace = error instanceof Problem && (error.code === "conflict" || error.code === "not_found");
      if (!isRace || tries === maxCreates) throw error;
    }
  }
}

/** Returns the record with a change. */
function withChange(ports: SchedulePorts, current: ScheduleRecord, { change, ...by }: Changing): ScheduleRecord {
  return withDefinition(ports, current, parseInput(definitionSchema, changedDefinition(current, change)), by);
}

/** Returns the record with another definition. */
function withDefinition(
  ports: SchedulePorts,
  current: ScheduleRecord,
  definition: ScheduleDefinition,
  { version, principal }: Omit<Changing, "change">,
): ScheduleRecord {
  const revision = nextRevision(ports, current);
  const now = iso(ports.clock.now());
  const { cron: _, every_seconds: __, starts_at: ___, ends_at: ____, alarm: _____, input_version, ...kept } = current;
  const next = {
    ...withPause(kept, { enabled: definition.enabled, now, principal }),
    ...definition,
    ...(version ?? (input_version === undefined ? {} : { input_version })),
    revision,
    rule_revision: revision,
    updated_at: now,
  };
  if (fingerprint(ruleOf(next)) !== fingerprint(ruleOf(current))) checkTimes(ports, next);
  return next;
}

type Pausable = Pick<ScheduleRecord, "enabled" | "enabled_since" | "paused_since" | "paused_by">;

/** Notes who paused a schedule and when, or from when on it is enabled. */
function withPause<Kept extends Pausable>(
  { paused_since, paused_by, ...kept }: Kept,
  { enabled, now, principal }: { enabled: boolean; now: string; principal: string | undefined },
) {
  if (enabled) return { ...kept, enabled_since: kept.enabled ? kept.enabled_since : now };
  const since = kept.enabled ? now : paused_since;
  const by = kept.enabled ? principal : paused_by;
  return { ...kept, ...(since !== undefined && { paused_since: since }), ...(by !== undefined && { paused_by: by }) };
}

/** Returns the definition after a change: a new `cron` removes `every_seconds`, and the other way round. */
function changedDefinition(current: ScheduleRecord, change: Change): object {
  const { name, enabled, overlap, alarm, task, timezone, starts_at, ends_at } = current;
  const cron = typeof change.every_seconds === "number" ? undefined : current.cron;
  const every_seconds = typeof change.cron === "string" ? undefined : current.every_seconds;
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  const before = { name, enabled, overlap, alarm, task, timezone, starts_at, ends_at, cron, every_seconds };
  return { ...before, ...Object.fromEntries(given) };
}

const revert = (ports: SchedulePorts, before: ScheduleRecord, after: ScheduleRecord): Promise<boolean> => {
  const revision = nextRevision(ports, after);
  return ports.schedules.replace({ ...before, revision, rule_revision: revision }, after.revision);
};

/**
 * Deletes a schedule. It submits nothing after this returns.
 * @throws Problem `not_found`, `conflict`; PortUnavailable
 */
export async function deleteSchedule(ports: SchedulePorts & { checks: RuleChecks }, key: ScheduleKey): Promise<void> {
  await findSchedule(ports, key);
  await ports.checks.request(keyOf(key));
  const { before, after } = await orConflict(() =>
    rewrite(ports, key, (current) => {
      const revision = nextRevision(ports, current);
      return { ...current, state: "deleting", revision, rule_revision: revision };
    }),
  );
  await alignOrRevert(ports, after, () => revert(ports, before, after));
  // If this fails, the record stays in state `deleting`, which is never shown.
  await bestEffort(() => ports.schedules.delete(after, after.revision));
}

/**
 * Submits the schedule's task now, independent of its rule, with the caller as the principal.
 * @throws Problem `not_found` and those of submit; PortUnavailable
 */
export async function runSchedule(
  ports: SchedulePorts & SubmitPorts,
  key: ScheduleKey,
  call: Omit<SubmitCall, "body" | "schedule">,
): Promise<Accepted> {
  const { task, schedule_id, input_version: inputVersion = 1 } = await findSchedule(ports, key);
  const accepted = await submit(ports, { ...call, body: task, inputVersion, schedule: { scheduleId: schedule_id } });
  const { task_id, created_at } = accepted.record;
  // The task is accepted even if the schedule's last run cannot be saved.
  await bestEffort(() =>
    rewrite(ports, key, (current) =>
      (current.last_run_at ?? "") > created_at
        ? undefined
        : { ...current, revision: nextRevision(ports, current), last_run_at: created_at, last_task_id: task_id },
    ),
  );
  return accepted;
}
