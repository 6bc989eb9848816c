import { type Line, lineOf, pauseName } from "../model/line.ts";
import { iso, type TaskRecord } from "../model/record.ts";
import { type FlowSettings, guardName, type Pause, type ResumeGuard } from "../ports/flow.ts";
import type { Clock } from "../ports/tasks.ts";
import type { Settled } from "../task/settled.ts";
import type { LinePorts } from "./let-go.ts";

/** A resume of a type is guarded for this time, in milliseconds. */
export const guardMs = 600_000;

/** Failed attempts in a row that pause a resumed type again, and tenants in a row that pause it for all. */
export const guardFailures = 20;

/**
 * Guards the resume of a type: if its attempts all fail again, it is paused again. Does nothing when it is not paused.
 * @throws PortUnavailable
 */
export async function guardResume(
  { flowSettings, clock }: { flowSettings: FlowSettings; clock: Clock },
  pause: string,
): Promise<void> {
  if ((await flowSettings.find(pause)) === undefined) return;
  const guardsUntilMs = clock.now() + guardMs;
  await flowSettings.put({ kind: "breaker", name: guardName(pause), failures: 0, guardsUntilMs });
}

/**
 * Ends what a resume for all tenants leaves of single ones: the counts of the resume before, and the pauses that the
 * type made by itself. A tenant's own pause stays.
 * @returns The lines of these pauses.
 * @throws PortUnavailable
 */
export async function pausedByGuards(flowSettings: FlowSettings, pause: string): Promise<Line[]> {
  const settings = await flowSettings.all();
  const counts = settings.filter(({ name }) => name.startsWith(`${guardName(pause)}/`));
  for (const { name } of counts) await flowSettings.remove(name);
  return settings
    .filter((one) => one.name.startsWith(`${pause}/`) && (one as Pause).reason !== undefined)
    .map(({ name }) => lineOf(name) as Line);
}

/**
 * Counts the end of an attempt of a type that was resumed a short time ago. Failures in a row of one tenant pause it
 * for this tenant; after a resume for all, those of many tenants pause it for all, so that no tenant alone stops
 * others. What had started before the resume does not count.
 * @throws PortUnavailable
 */
export async function countForGuards(
  ports: LinePorts,
  guards: readonly ResumeGuard[],
  record: Pick<TaskRecord, "type" | "tenant_id" | "started_at">,
  as: Settled["as"],
): Promise<void> {
  const startedMs = Date.parse(record.started_at ?? "");
  const counting = guards.filter(({ guardsUntilMs }) => !(startedMs < guardsUntilMs - guardMs));
  if (counting.length === 0) return;
  if (as === "failed" || as === "retried") await countFailure(ports, counting, record);
  if (as !== "completed" && as !== "waiting") return;
  for (const guard of counting)
    if (ports.flow.failed.has(guard.name) || guard.failures > 0) await countAnew(ports, guard);
}

async function countAnew({ flow, flowSettings }: LinePorts, guard: ResumeGuard): Promise<void> {
  flow.failed.delete(guard.name);
  await flowSettings.put({ ...guard, failures: 0 });
  flow.forget();
}

async function countFailure(
  ports: LinePorts,
  guards: readonly ResumeGuard[],
  { type, tenant_id: tenantId }: Pick<TaskRecord, "type" | "tenant_id">,
): Promise<void> {
  const name = guardName(pauseName({ scope: "type", type, tenantId }));
  const guardsUntilMs = Math.max(...guards.map((guard) => guard.guardsUntilMs));
  const failures = await countOne(ports, name, guardsUntilMs);
  if (failures >= guardFailures) await pauseAgain(ports, name, `${guardFailures} attempts in a row failed again`);
  if (failures > 1) return;
  if (!guards.some((guard) => guard.name === name))
    await ports.flowSettings.put({ kind: "breaker", name, failures, guardsUntilMs });
  const all = guards.find((guard) => guard.name !== name);
  if (all === undefined || (await countOne(ports, all.name, all.guardsUntilMs)) < guardFailures) return;
  await pauseAgain(ports, all.name, `attempts of ${guardFailures} tenants in a row failed again`);
}

async function countOne({ flow, flowSettings, clock }: LinePorts, name: string, untilMs: number): Promise<number> {
  flow.failed.add(name);
  const { failures } = await flowSettings.countFailure(name, guardFailures, untilMs, clock.now());
  flow.forget();
  return failures;
}

async function pauseAgain({ flowSettings, clock, log }: LinePorts, guard: string, found: string): Promise<void> {
  const name = guard.slice(guardName("").length);
  const reason = `after the resume, ${found}`;
  await flowSettings.put({ kind: "pause", name, since: iso(clock.now()), by: "offload", reason });
  await flowSettings.remove(guard);
  log.warn("paused by itself: all attempts fail again after the resume", { pause: name, reason });
}
