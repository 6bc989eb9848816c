import { breakerName, type Line, lineOf, type PauseTarget, pauseName } from "../../model/line.ts";
import { iso } from "../../model/record.ts";
import type { Tier } from "../../model/tier.ts";
import { limitsName, type Pause, settingsKnownMs, type TypeLimits } from "../../ports/flow.ts";
import type { CatalogEntry } from "../../task/catalog.ts";
import { guardResume } from "./guard.ts";
import type { LinePorts } from "./line-ports.ts";
import { noteOpened } from "./opened.ts";
import { sendCheck } from "./plan-check.ts";

export type ManageFlowPorts = Pick<LinePorts, "clock" | "log" | "queues" | "lines" | "flowSettings" | "newId">;

/**
 * The check that is there in case of a death comes this much later, in milliseconds: two at the same time would send
 * each task twice.
 */
const spareMs = 10_000;

/** Lines that a change of limits goes on with, at most. Others follow when a task in them ends. */
const mostLines = 1_000;

/**
 * Pauses. When it returns, no worker starts a task that the pause stops; running attempts finish.
 * @throws PortUnavailable
 */
export async function pause(ports: ManageFlowPorts, target: PauseTarget, by: string): Promise<Pause> {
  const name = pauseName(target);
  const earlier = (await ports.flowSettings.find(name)) as Pause | undefined;
  const made: Pause = earlier ?? { kind: "pause", name, since: iso(ports.clock.now()), by };
  if (earlier === undefined) {
    await ports.flowSettings.put(made);
    ports.log.info("paused", { pause: name, by });
  }
  await new Promise<void>((resolve) => ports.clock.after(settingsKnownMs, resolve));
  return made;
}

/**
 * Resumes. Waiting tasks start in order of submission, ten a second at first and more of them later. Repeatable:
 * the line is checked before the pause is removed and after it, so that a death in between leaves no line without a
 * check. A type is paused again by itself if its first tasks all fail.
 * @param tier Tier in whose queue the check waits.
 * @throws PortUnavailable
 */
export async function resume(ports: ManageFlowPorts, target: PauseTarget, tier: Tier, by: string): Promise<void> {
  const line = lineOf(pauseName(target)) as Line;
  if (target.scope === "type") for (const own of await guardResume(ports, target)) await open(ports, own, tier);
  await open(ports, line, tier);
  ports.log.info("resumed", { pause: line.name, by });
}

/**
 * Closes the breaker of a type for a tenant: the tasks that wait start, and it counts failures from 0. Repeatable, as a
 * resume.
 * @param tier Tier in whose queue the check waits.
 * @throws PortUnavailable
 */
export async function closeBreaker(
  ports: ManageFlowPorts,
  { type, tenantId }: { type: string; tenantId: string },
  tier: Tier,
  by: string,
): Promise<void> {
  await open(ports, lineOf(breakerName(type, tenantId)) as Line, tier);
  ports.log.info("breaker closed by an operator", { type, tenant_id: tenantId, by });
}

/** Removes the setting that stops a line's tasks, with a check before and after it. */
async function open(ports: ManageFlowPorts, line: Line, tier: Tier): Promise<void> {
  const checkAfter = (delayMs: number) =>
    sendCheck(ports, line, { tier, atMs: ports.clock.now() + delayMs, id: ports.newId() });
  await checkAfter(settingsKnownMs + spareMs);
  await ports.flowSettings.remove(line.name);
  await noteOpened(ports.lines, line, ports.clock.now() + settingsKnownMs);
  await checkAfter(settingsKnownMs);
}

/** Limits that an operator sets for a type. A missing one stays as it is; null: as defined. */
export interface LimitsChange {
  concurrency?: number | null | undefined;
  rate?: { limit: number; per_seconds: number } | null | undefined;
}

/**
 * Changes the limits of a type, for all tenants. A type that is defined without a limit gets a limit that all its tasks
 * share, until it is taken away.
 * @throws PortUnavailable
 */
export async function changeLimits(
  ports: ManageFlowPorts,
  type: Pick<CatalogEntry, "name" | "priority">,
  change: LimitsChange,
  by: string,
): Promise<TypeLimits> {
  const name = limitsName(type.name);
  const earlier = (await ports.flowSettings.find(name)) as TypeLimits | undefined;
  const concurrency = change.concurrency === undefined ? earlier?.concurrency : (change.concurrency ?? undefined);
  const rate = change.rate === undefined ? earlier?.rate : (change.rate ?? undefined);
  const limits: TypeLimits = { kind: "limits", name, ...(concurrency && { concurrency }), ...(rate && { rate }) };
  await (concurrency === undefined && rate === undefined
    ? ports.flowSettings.remove(name)
    : ports.flowSettings.put(limits));
  ports.log.info("limits changed", { type: type.name, concurrency, rate, by });
  await checkLines(ports, type);
  return limits;
}

/** A line whose tasks run for long would notice the new limit only as one of them ends. */
async function checkLines(ports: ManageFlowPorts, { name, priority: tier }: { name: string; priority: Tier }) {
  const found = await Promise.all([
    ports.lines.list(`concurrency/${name}/`, mostLines),
    ports.lines.list(`rate/${name}/`, mostLines),
  ]);
  const atMs = ports.clock.now() + settingsKnownMs;
  for (const line of found.flat()) await sendCheck(ports, lineOf(line) as Line, { tier, atMs, id: ports.newId() });
}
