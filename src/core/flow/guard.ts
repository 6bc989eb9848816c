import { iso, type TaskRecord } from "../model/record.ts";
import { type FlowSettings, guardName, type Pause, type ResumeGuard } from "../ports/flow.ts";
import type { Clock } from "../ports/tasks.ts";
import type { Settled } from "../task/settled.ts";
import type { LinePorts } from "./let-go.ts";

/** A resume of a type is guarded for this time, in milliseconds. */
export const guardMs = 600_000;

/** Failed attempts in a row that pause a resumed type again. */
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
 * Counts the end of an attempt of a type that was resumed a short time ago. What had started before the resume does not
 * count.
 * @throws PortUnavailable
 */
export async function countForGuard(
  ports: LinePorts,
  guard: ResumeGuard,
  { type, tenant_id: tenantId, started_at }: Pick<TaskRecord, "type" | "tenant_id" | "started_at">,
  as: Settled["as"],
): Promise<void> {
  if (started_at !== undefined && Date.parse(started_at) < guard.guardsUntilMs - guardMs) return;
  const hasFailedBefore = ports.flow.failed.has(guard.name) || guard.failures > 0;
  if (as === "failed" || as === "retried") await countFailure(ports, guard, { type, tenantId });
  else if (hasFailedBefore && (as === "completed" || as === "waiting")) await countAnew(ports, guard);
}

async function countAnew({ flow, flowSettings }: LinePorts, guard: ResumeGuard): Promise<void> {
  flow.failed.delete(guard.name);
  await flowSettings.put({ ...guard, failures: 0 });
  flow.forget();
}

async function countFailure(
  ports: LinePorts,
  { name, guardsUntilMs }: ResumeGuard,
  { type, tenantId }: { type: string; tenantId: string },
): Promise<void> {
  const { flowSettings, clock, log, flow } = ports;
  const now = clock.now();
  flow.failed.add(name);
  const { failures } = await flowSettings.countFailure(name, guardFailures, guardsUntilMs, now);
  flow.forget();
  if (failures < guardFailures) return;
  const reason = `after the resume, ${guardFailures} attempts in a row failed again`;
  const paused: Pause = {
    kind: "pause",
    name: name.slice(guardName("").length),
    since: iso(now),
    by: "offload",
    reason,
  };
  await flowSettings.put(paused);
  await flowSettings.remove(name);
  log.warn("paused by itself: all attempts fail again after the resume", {
    type,
    tenant_id: tenantId,
    pause: paused.name,
  });
}
