import { inLanes } from "../../../util/in-lanes.ts";
import { Problem } from "../../model/problem.ts";
import { iso } from "../../model/record.ts";
import {
  allTenants,
  breakerName,
  limitLine,
  lineOf,
  type PauseTarget,
  pauseName,
  type WaitQueue,
} from "../../model/wait-queue.ts";
import type { Tier } from "../../model/words.ts";
import {
  type Breaker,
  type FlowSetting,
  limitsName,
  type Pause,
  settingsKnownMs,
  type TypeLimits,
} from "../../ports/flow.ts";
import type { CatalogEntry } from "../../task/catalog.ts";
import { maxPermits } from "../../task/type-limits.ts";
import { guardResume } from "./breaker.ts";
import { noteOpened } from "./keyed-breakers.ts";
import { isOver } from "./limit-lines.ts";
import { lineOfLimit } from "./view-flow.ts";
import { sendCheck, type WaitQueuePorts } from "./wait-queue-ports.ts";

export type ManageFlowPorts = Pick<WaitQueuePorts, "clock" | "log" | "queues" | "lines" | "flowSettings" | "newId">;

/**
 * The check that is there in case of a death comes this much later, in milliseconds: two at the same time would send
 * each task twice.
 */
const spareMs = 10_000;

/** Lines that a change of limits goes on with, at most. Others follow when a task in them ends. */
const maxLines = 1_000;

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
  const line = lineOf(pauseName(target)) as WaitQueue;
  if (target.scope === "type") for (const own of await guardResume(ports, target)) await open(ports, own, tier);
  await open(ports, line, tier);
  ports.log.info("resumed", { pause: line.name, by });
}

/** A breaker that an operator closes. */
export interface ClosedBreaker {
  type: string;
  tenantId: string;
  /** Absent: that of the type, with those of all its keys. */
  key?: string | undefined;
}

/** Breakers of keys that are closed together, at most; and at the same time. */
const [maxClosed, closingLanes] = [1_000, 10];

/**
 * Closes the breaker of a type for a tenant, or that of a key: the tasks that wait start, and it counts failures from
 * 0. Repeatable, as a resume.
 * @param tier Tier in whose queue the check waits.
 * @throws PortUnavailable
 */
export async function closeBreaker(
  ports: ManageFlowPorts,
  { type, tenantId, key }: ClosedBreaker,
  tier: Tier,
  by: string,
): Promise<void> {
  const ofKeys = key === undefined ? await ports.flowSettings.named(breakerName(type, tenantId, ""), maxClosed) : [];
  const isOpen = (one: FlowSetting) => (one as Breaker).openUntilMs !== undefined;
  const lines = [breakerName(type, tenantId, key), ...ofKeys.filter(isOpen).map(({ name }) => name)];
  await inLanes(lines, closingLanes, (name) => open(ports, lineOf(name) as WaitQueue, tier));
  await inLanes(ofKeys, closingLanes, async (one) => isOpen(one) || ports.flowSettings.remove(one.name));
  const of = { type, tenant_id: tenantId, ...(key !== undefined && { key }) };
  ports.log.info("breaker closed by an operator", { ...of, by });
}

/** Removes the setting that stops a line's tasks, with a check before and after it. */
async function open(ports: ManageFlowPorts, line: WaitQueue, tier: Tier): Promise<void> {
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
    ports.lines.list(`concurrency/${name}/`, maxLines),
    ports.lines.list(`rate/${name}/`, maxLines),
  ]);
  const atMs = ports.clock.now() + settingsKnownMs;
  for (const line of found.flat()) await sendCheck(ports, lineOf(line) as WaitQueue, { tier, atMs, id: ports.newId() });
}

/** Limits of single keys that are in force at the same time, at most: every process that works reads all of them. */
const [maxOfTenant, maxOfAll] = [50, 200];

/** The operator who sets the limit of a key. An admin may also change a limit that tenants share. */
export interface KeyOwner {
  tenantId: string;
  isAdmin: boolean;
  principal: string;
}

/** The limit of one key. */
export interface KeyLimitChange {
  limit: number;
  /**
   * Present: `limit` are starts in this time. Absent: attempts at the same time, or the starts of a type with a rate
   * only.
   */
  per_seconds?: number | undefined;
  /** Absent: the limit holds until it is taken away. */
  expires_in_seconds?: number | undefined;
}

type KeyedType = Pick<CatalogEntry, "name" | "priority" | "concurrency" | "rate_limit">;

type LimitKind = "concurrency" | "rate";

const limitIn = ({ concurrency, rate_limit }: KeyedType, kind: LimitKind) =>
  kind === "concurrency" ? concurrency : rate_limit;

const isKeyed = (type: KeyedType, kind: LimitKind): boolean => limitIn(type, kind)?.keyed === true;

/**
 * The line of a key. `isAllowed` is false when tenants share the limit, and the caller is no admin.
 */
function lineOfKey(type: KeyedType, kind: LimitKind, key: string, { tenantId, isAdmin }: KeyOwner) {
  const isShared = limitIn(type, kind)?.scope === "deployment";
  const name = limitLine(kind, { type: type.name, tenantId: isShared ? allTenants : tenantId, key });
  return { line: lineOf(name) as WaitQueue, isAllowed: !isShared || isAdmin };
}

const ofAdmins = () =>
  new Problem("forbidden", "All tenants share this limit: only an admin may change it for one key.");

/**
 * Sets the limit of one key of a type. It replaces the earlier limit of this key. Every worker uses it after about
 * three seconds, until its end.
 * @throws Problem `conflict`, `forbidden`; PortUnavailable
 */
export async function limitKey(
  ports: ManageFlowPorts,
  type: KeyedType,
  key: string,
  { limit, per_seconds: given, expires_in_seconds: seconds }: KeyLimitChange,
  by: KeyOwner,
): Promise<TypeLimits> {
  const kind = given === undefined && isKeyed(type, "concurrency") ? "concurrency" : "rate";
  if (!isKeyed(type, kind)) {
    const option = given === undefined ? "concurrency or rateLimit" : "rateLimit";
    throw new Problem("conflict", `The type ${type.name} is defined without a key of ${option}.`);
  }
  if (kind === "concurrency" && limit > maxPermits) {
    const message = `at most ${maxPermits} attempts at the same time`;
    throw new Problem("invalid_input", `limit: ${message}`, { errors: [{ path: "/limit", message }] });
  }
  const { line, isAllowed } = lineOfKey(type, kind, key, by);
  if (!isAllowed) throw ofAdmins();
  const name = limitsName(line.name);
  await checkRoom(ports, name, by);
  const perSeconds = given ?? type.rate_limit?.per_seconds ?? 1;
  const set: TypeLimits = {
    ...{ kind: "limits", name },
    ...(kind === "concurrency" ? { concurrency: limit } : { rate: { limit, per_seconds: perSeconds } }),
    ...(seconds !== undefined && { untilMs: ports.clock.now() + seconds * 1000 }),
  };
  await ports.flowSettings.put(set);
  ports.log.info("limit of a key changed", { line: line.name, limit, by: by.principal });
  await checkKnown(ports, line, type.priority);
  return set;
}

/**
 * Takes the limits away that one key of a type has of its own: those of its type apply again. Repeatable.
 * @throws Problem `forbidden`; PortUnavailable
 */
export async function clearKey(ports: ManageFlowPorts, type: KeyedType, key: string, by: KeyOwner): Promise<void> {
  const kinds: LimitKind[] = ["concurrency", "rate"];
  const lines = kinds.map((kind) => lineOfKey(type, kind, key, by));
  const found = await Promise.all(lines.map(({ line }) => ports.flowSettings.find(limitsName(line.name))));
  const set = lines.filter((_, index) => found[index] !== undefined);
  const own = set.filter(({ isAllowed }) => isAllowed);
  if (set.length > 0 && own.length === 0) throw ofAdmins();
  for (const { line } of own) {
    await ports.flowSettings.remove(limitsName(line.name));
    ports.log.info("limit of a key removed", { line: line.name, by: by.principal });
    await checkKnown(ports, line, type.priority);
  }
}

/** The line is looked at when every process knows the new limit. */
const checkKnown = (ports: ManageFlowPorts, line: WaitQueue, tier: Tier): Promise<void> =>
  sendCheck(ports, line, { tier, atMs: ports.clock.now() + settingsKnownMs, id: ports.newId() });

/** @throws Problem `conflict` when too many keys have a limit of their own */
async function checkRoom({ flowSettings, clock }: ManageFlowPorts, name: string, by: KeyOwner): Promise<void> {
  const now = clock.now();
  const others = (await flowSettings.all()).filter(
    (one) => one.name !== name && lineOfLimit(one) !== undefined && !isOver(one as TypeLimits, now),
  );
  const ofTenant = others.filter((one) => lineOfLimit(one)?.tenantId === by.tenantId).length;
  if (others.length < maxOfAll && (by.isAdmin || ofTenant < maxOfTenant)) return;
  throw new Problem(
    "conflict",
    `At most ${maxOfTenant} keys of a tenant, and ${maxOfAll} of the deployment, have a limit of their own. ` +
      "Take the limits of other keys away first.",
  );
}
