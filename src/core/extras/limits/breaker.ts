import type { Line } from "../../model/line.ts";
import type { TaskRecord } from "../../model/record.ts";
import type { Tier } from "../../model/tier.ts";
import type { Settled } from "../../task/limiter.ts";
import type { TaskMessage } from "../../task/puller.ts";
import type { BreakerOption } from "../../task/type-limits.ts";
import { advance } from "./advance.ts";
import { countForGuards, guardsOf } from "./guard.ts";
import { breakerAt, breakerLine, isCounted, noteOpened } from "./keyed-breakers.ts";
import type { FlowPorts, LinePorts } from "./line-ports.ts";

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
async function close(ports: LinePorts, line: Line, tenantId: string, tier: Tier): Promise<void> {
  const breaker = await breakerAt(ports, line);
  if (breaker === undefined) return;
  await ports.flowSettings.remove(line.name);
  if (breaker.openUntilMs !== undefined) await noteOpened(ports.lines, line, ports.clock.now());
  ports.flow.forget();
  if (breaker.openUntilMs === undefined) return;
  ports.log.info("breaker closed", { type: line.type, tenant_id: tenantId, line: line.name });
  await advance(ports, line, { tier });
}
