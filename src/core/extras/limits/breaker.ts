import { breakerName, type Line } from "../../model/line.ts";
import type { TaskRecord } from "../../model/record.ts";
import type { Tier } from "../../model/tier.ts";
import type { Settled } from "../../task/limiter.ts";
import type { TaskMessage } from "../../task/task-message.ts";
import type { BreakerOption, LimitedType } from "../../task/type-limits.ts";
import { advance } from "./advance.ts";
import { countForGuards } from "./guard.ts";
import type { LinePorts } from "./line-ports.ts";
import { noteOpened } from "./opened.ts";

/**
 * Counts the end of an attempt for its type's breaker, or for the guards of its type's resume. A crash does not count:
 * nobody knows what failed.
 * @throws PortUnavailable
 */
export async function countEnd(
  ports: LinePorts,
  { type, record, delivery: { tier } }: TaskMessage & { record: TaskRecord },
  as: Settled["as"],
): Promise<void> {
  if (type === undefined) return;
  await (type.breaker === undefined
    ? countForGuards(ports, await ports.flow.guardsOf(type.name, record.tenant_id), record, as)
    : count(ports, { ...type, breaker: type.breaker }, record, as, tier));
}

async function count(
  ports: LinePorts,
  type: LimitedType & { breaker: BreakerOption },
  record: TaskRecord,
  as: Settled["as"],
  tier: Tier,
): Promise<void> {
  const line: Line = { kind: "breaker", name: breakerName(type.name, record.tenant_id), type: type.name };
  if (as === "completed" || as === "waiting") return close(ports, line, record.tenant_id, tier);
  if (as !== "failed" && as !== "retried") return;
  const { failures, coolDownSeconds } = type.breaker;
  const now = ports.clock.now();
  const openUntilMs = now + coolDownSeconds * 1000;
  const breaker = await ports.flowSettings.countFailure(line.name, failures, openUntilMs, now);
  ports.flow.forget();
  if (breaker.openUntilMs !== openUntilMs) return;
  ports.log.warn("breaker opened: tasks of the type wait", {
    type: type.name,
    tenant_id: record.tenant_id,
    failures: breaker.failures,
    open_until: new Date(openUntilMs).toISOString(),
  });
}

/**
 * A task that the breaker lets try cannot start, for example because it was cancelled: the next one tries.
 * @throws PortUnavailable
 */
export async function passTry(
  ports: LinePorts,
  { tenant_id, type }: Pick<TaskRecord, "tenant_id" | "type">,
  tryUntilMs: number,
  tier: Tier,
): Promise<void> {
  const line: Line = { kind: "breaker", name: breakerName(type, tenant_id), type };
  // Another end of an attempt may have opened or closed the breaker.
  const passed = await ports.flowSettings.tryBreaker(line.name, tryUntilMs, ports.clock.now());
  if (passed) await advance(ports, line, { tier });
}

/**
 * A success ends the row of failures, and lets the tasks go that wait. The check that was planned while they waited
 * does so after a death in between.
 */
async function close(ports: LinePorts, line: Line, tenantId: string, tier: Tier): Promise<void> {
  const breaker = await ports.flow.breakerOf(line.type ?? "", tenantId);
  if (breaker === undefined) return;
  await ports.flowSettings.remove(line.name);
  if (breaker.openUntilMs !== undefined) await noteOpened(ports.lines, line, ports.clock.now());
  ports.flow.forget();
  if (breaker.openUntilMs === undefined) return;
  ports.log.info("breaker closed", { type: line.type, tenant_id: tenantId });
  await advance(ports, line, { tier });
}
