import { iso, type TaskRecord } from "../../model/record.ts";
import { lineOf, type PauseTarget, pauseName, type WaitQueue } from "../../model/wait-queue.ts";
import type { Tier } from "../../model/words.ts";
import { byItself, wholeDeployment } from "../../ports/audit.ts";
import { type Breaker, type FlowSettings, guardName, type Pause, type ResumeGuard } from "../../ports/flow.ts";
import type { Clock } from "../../ports/tasks.ts";
import type { Settled } from "../../task/limiter.ts";
import type { TaskMessage } from "../../task/puller.ts";
import type { BreakerOption } from "../../task/type-limits.ts";
import { advance } from "./advance.ts";
import { guardNames } from "./flow-book.ts";
import { breakerAt, breakerLine, isCounted, noteOpened } from "./keyed-breakers.ts";
import type { FlowPorts, WaitQueuePorts } from "./wait-queue-ports.ts";

/**
 * Counts the end of an attempt for its type's breaker, or for the guards of its type's resume. A crash does not count:
 * nobody knows what failed.
 * @throws PortUnavailable
 */
export async function countEnd(
  ports: FlowPorts,
  message: TaskMessage & { record: TaskRecord },
  as: Settled["as"],
): Promise<void> {
  const { type, record } = message;
  if (type === undefined) return;
  await (type.breaker === undefined
    ? countForGuards(ports, await guardsOf(ports, type.name, record.tenant_id), record, as)
    : count(ports, message, type.breaker, as));
}

async function count(
  ports: FlowPorts,
  message: TaskMessage & { record: TaskRecord },
  { failures, coolDownSeconds }: BreakerOption,
  as: Settled["as"],
): Promise<void> {
  const isSuccess = as === "completed" || as === "waiting";
  if (!isSuccess && as !== "failed" && as !== "retried") return;
  const line = await breakerLine(ports, message);
  // The input has no key, so its failure tells of none.
  if ("fault" in line) return;
  const { record, delivery } = message;
  if (isSuccess) return close(ports, line, record.tenant_id, delivery.tier);
  const now = ports.clock.now();
  if (!(await isCounted(ports, line, now))) return;
  const openUntilMs = now + coolDownSeconds * 1000;
  const breaker = await ports.flowSettings.countFailure(line.name, failures, openUntilMs, now);
  ports.flow.forget();
  if (breaker.openUntilMs !== openUntilMs) return;
  ports.log.warn("breaker opened: tasks of the type wait", {
    ...{ type: line.type, tenant_id: record.tenant_id, line: line.name },
    failures: breaker.failures,
    open_until: new Date(openUntilMs).toISOString(),
  });
}

/**
 * A task that the breaker lets try cannot start, for example because it was cancelled: the next one tries.
 * @throws PortUnavailable
 */
export async function passTry(ports: FlowPorts, message: TaskMessage, tryUntilMs: number): Promise<void> {
  const line = await breakerLine(ports, message);
  if ("fault" in line) return;
  // Another end of an attempt may have opened or closed the breaker.
  const passed = await ports.flowSettings.tryBreaker(line.name, tryUntilMs, ports.clock.now());
  if (passed) await advance(ports, line, { tier: message.delivery.tier });
}

/**
 * A success ends the row of failures, and admits the tasks that wait. The check that was planned while they waited
 * does so after a death in between.
 */
async function close(ports: WaitQueuePorts, line: WaitQueue, tenantId: string, tier: Tier): Promise<void> {
  const breaker = await breakerAt(ports, line);
  if (breaker === undefined) return;
  await ports.flowSettings.remove(line.name);
  if (breaker.openUntilMs !== undefined) await noteOpened(ports.lines, line, ports.clock.now());
  ports.flow.forget();
  if (breaker.openUntilMs === undefined) return;
  ports.log.info("breaker closed", { type: line.type, tenant_id: tenantId, line: line.name });
  await advance(ports, line, { tier });
}

type TypePause = PauseTarget & { scope: "type" };

/** A resume of a type is guarded for this time, in milliseconds. */
export const guardMs = 600_000;

/** Failed attempts in a row that pause a resumed type again, and tenants in a row that pause it for all. */
export const guardFailures = 20;

/**
 * Tenants of a type that are counted, or paused by themselves, after a resume for all, at most: every process that
 * works reads a setting of each. Others are not counted until one of these completes a task.
 */
export const maxCounted = 100;

/**
 * Guards the resume of a type: if its attempts all fail again, it is paused again. Does nothing where nothing is
 * paused. A resume for all tenants also ends what one before leaves of single ones: their counts, and the pauses that
 * the type made by itself. A tenant's own pause stays.
 * @returns The lines of these pauses.
 * @throws PortUnavailable
 */
export async function guardResume(
  { flowSettings, clock }: { flowSettings: FlowSettings; clock: Clock },
  { tenantId, ...target }: TypePause,
): Promise<WaitQueue[]> {
  const pause = pauseName({ ...target, tenantId });
  const own = tenantId === undefined ? await leftOfResume(flowSettings, pause) : [];
  if (own.length === 0 && (await flowSettings.find(pause)) === undefined) return own;
  const guardsUntilMs = clock.now() + guardMs;
  await flowSettings.put({ kind: "breaker", name: guardName(pause), failures: 0, guardsUntilMs });
  return own;
}

async function leftOfResume(flowSettings: FlowSettings, pause: string): Promise<WaitQueue[]> {
  const settings = await flowSettings.all();
  const counts = settings.filter(({ name }) => name.startsWith(`${guardName(pause)}/`));
  for (const { name } of counts) await flowSettings.remove(name);
  return settings
    .filter((one) => one.name.startsWith(`${pause}/`) && (one as Pause).reason !== undefined)
    .map(({ name }) => lineOf(name) as WaitQueue);
}

/** The guards of a type's resumes that hold now, for a tenant and for all. */
async function guardsOf(
  { flow, clock }: Pick<WaitQueuePorts, "flow" | "clock">,
  type: string,
  tenantId: string,
): Promise<ResumeGuard[]> {
  const settings = await flow.settings();
  const now = clock.now();
  const guards = guardNames(type, tenantId).map((name) => settings.get(name) as Breaker | undefined);
  return guards.filter((one): one is ResumeGuard => (one?.guardsUntilMs ?? 0) > now);
}

/**
 * Counts the end of an attempt of a type that was resumed a short time ago. Failures in a row of one tenant pause it
 * for this tenant; after a resume for all, those of many tenants pause it for all, so that no tenant alone stops
 * others. What had started before the resume does not count.
 * @throws PortUnavailable
 */
export async function countForGuards(
  ports: WaitQueuePorts,
  guards: readonly ResumeGuard[],
  record: Guarded & Pick<TaskRecord, "started_at">,
  as: Settled["as"],
): Promise<void> {
  const startedMs = Date.parse(record.started_at ?? "");
  const counting = guards.filter(({ guardsUntilMs }) => !(startedMs < guardsUntilMs - guardMs));
  if (counting.length === 0) return;
  if (as === "failed" || as === "retried") await countFailure(ports, counting, record);
  if (as !== "completed" && as !== "waiting") return;
  for (const guard of counting) if (guard.failures > 0) await countAnew(ports, guard, counting);
}

/** The parts of a task that decide what it counts for. */
type Guarded = Pick<TaskRecord, "type" | "tenant_id" | "correlation_id">;

/** A tenant's count is nothing more where a guard for all holds as long: a setting less that every process reads. */
async function countAnew({ flow, flowSettings }: WaitQueuePorts, guard: ResumeGuard, guards: readonly ResumeGuard[]) {
  const isCovered = guards.some(
    ({ name, guardsUntilMs }) => guard.name.startsWith(`${name}/`) && guardsUntilMs >= guard.guardsUntilMs,
  );
  await (isCovered ? flowSettings.remove(guard.name) : flowSettings.put({ ...guard, failures: 0 }));
  flow.forget();
}

async function countFailure(ports: WaitQueuePorts, guards: readonly ResumeGuard[], task: Guarded): Promise<void> {
  const { type, tenant_id: tenantId } = task;
  const own: TypePause = { scope: "type", type, tenantId };
  if (!hasRoom(ports, own)) return;
  const name = guardName(pauseName(own));
  const failures = await countOne(ports, name, Math.max(...guards.map((guard) => guard.guardsUntilMs)));
  await pauseAt(ports, own, failures, `${guardFailures} attempts in a row failed again`, task);
  const all = guards.find((guard) => guard.name !== name);
  // A tenant counts once among the tenants.
  if (failures > 1 || all === undefined) return;
  const tenants = await countOne(ports, all.name, all.guardsUntilMs);
  await pauseAt(
    ports,
    { scope: "type", type },
    tenants,
    `attempts of ${guardFailures} tenants in a row failed again`,
    task,
  );
}

/**
 * True for a tenant that is counted, and for another one while there are few. A paused
 * tenant is counted no more: what still ran at its pause would make it one more tenant.
 */
function hasRoom({ flow, clock }: WaitQueuePorts, own: TypePause): boolean {
  const [pause, all] = [pauseName(own), `${pauseName({ scope: "type", type: own.type })}/`];
  if (flow.latest.has(pause)) return false;
  if (flow.latest.has(guardName(pause))) return true;
  const now = clock.now();
  const counted = [...flow.latest.values()].filter((setting) =>
    setting.name.startsWith(all)
      ? (setting as Pause).reason !== undefined
      : setting.name.startsWith(guardName(all)) && ((setting as Breaker).guardsUntilMs ?? 0) > now,
  );
  return counted.length < maxCounted;
}

async function countOne({ flow, flowSettings }: WaitQueuePorts, name: string, untilMs: number): Promise<number> {
  const failures = await flowSettings.countForGuard(name, untilMs);
  flow.forget();
  return failures;
}

/**
 * Pauses at so many failures, unless somebody has. The call that counts the last failure tells the audit, as of a pause
 * by a person.
 */
async function pauseAt(ports: WaitQueuePorts, target: TypePause, failures: number, found: string, task: Guarded) {
  if (failures < guardFailures) return;
  const { flowSettings, flow, clock, log, audit, newId } = ports;
  const name = pauseName(target);
  const isPaused = (await flowSettings.find(name)) !== undefined;
  const [since, reason] = [iso(clock.now()), `after the resume, ${found}`];
  if (!isPaused) await flowSettings.put({ kind: "pause", name, since, by: byItself, reason });
  await flowSettings.remove(guardName(name));
  flow.forget();
  if (isPaused || failures > guardFailures) return;
  log.warn("paused by itself: all attempts fail again after the resume", { pause: name, reason });
  await audit.add({
    ...{ tenant_id: target.tenantId ?? wholeDeployment, at: since, audit_id: newId(), actor: byItself },
    ...{ action: "pauseType", target: { type: target.type }, correlation_id: task.correlation_id, status: 200 },
    request: { ...(target.tenantId === undefined && { all: true }), reason },
  });
}
