import { PortUnavailable, TaskError } from "../../model/errors.ts";
import { breakerName, isOfTier, type WaitQueue } from "../../model/wait-queue.ts";
import type { Breaker, FlowSettings, WaitQueueState, WaitQueues } from "../../ports/flow.ts";
import type { TaskMessage } from "../../task/puller.ts";
import type { TaskType } from "../../task/task.ts";
import type { BreakerOption, LimitedType } from "../../task/type-limits.ts";
import type { FlowBook } from "./flow-book.ts";
import { type InputPorts, inputsFor } from "./limit-input.ts";
import { breakerOf, keyFault, readBreaker, sharedKey } from "./limit-lines.ts";
import type { WaitQueuePorts } from "./wait-queue-ports.ts";

/** Keys of a type whose failures are counted for a tenant at the same time, at most: workers read all of them. */
export const maxKeys = 100;

/** Calls at the same time may each add a key to the last place: so many are read. */
const maxRead = 2 * maxKeys;

/** A breaker whose time to try has passed for this long, in milliseconds, has no task that waits. */
const idleMs = 3_600_000;

/** The keys of messages as their starts found them, for their ends. */
const keysOf = new WeakMap<TaskMessage["envelope"], string>();

/** True for the line of a key's breaker. */
export const isOfKey = ({ name }: Pick<WaitQueue, "name">): boolean => name.split("/").length > 3;

/** True for a line that the type has now: with a key, or without. The key may have come, or gone, with a deployment. */
export const isOfType = (line: WaitQueue, { breaker }: Pick<LimitedType, "breaker">): boolean =>
  breaker !== undefined && isOfKey(line) === (breaker.key !== undefined);

type BreakingMessage = Pick<TaskMessage, "envelope" | "type">;

/** The line of the breaker that stops and counts a task. A fault: its key is not to be had. */
export async function breakerLine(
  ports: InputPorts,
  { envelope, type }: BreakingMessage,
): Promise<WaitQueue | { fault: unknown }> {
  const { type: typeName, tenant_id: tenantId } = envelope;
  const makeKey = type?.breaker?.key;
  const key = type && makeKey && (await keyOf(ports, envelope, type, makeKey));
  if (typeof key === "object") return key;
  return { kind: "breaker", name: breakerName(typeName, tenantId, key), type: typeName };
}

async function keyOf(
  ports: InputPorts,
  envelope: TaskMessage["envelope"],
  type: TaskType,
  makeKey: (input: never) => string | number,
): Promise<string | { fault: unknown }> {
  const known = keysOf.get(envelope);
  if (known !== undefined) return known;
  try {
    const inputs = await inputsFor(ports, envelope, type);
    // An empty list ends without a call of the handler.
    if (inputs.length === 0) return { fault: undefined };
    const key = sharedKey("breaker", makeKey, inputs);
    keysOf.set(envelope, key);
    return key;
  } catch (error) {
    if (error instanceof PortUnavailable) throw error;
    return { fault: error instanceof TaskError ? error : keyFault(error, "a breaker") };
  }
}

interface BreakerPorts {
  flow: FlowBook;
  flowSettings: FlowSettings;
}

/** The breaker of a line, as this process knows it. Undefined: no task failed. */
export async function breakerAt(ports: BreakerPorts, line: WaitQueue): Promise<Breaker | undefined> {
  const [, type = "", tenantId = ""] = line.name.split("/");
  if (!isOfKey(line)) return breakerOf(ports.flow, type, tenantId);
  const breaker = (await breakersOfKeys(ports, type, tenantId)).get(line.name);
  return breaker && readBreaker(breaker);
}

/** The breakers of a type's keys for a tenant that have failures, by their names: one read where not all are known. */
async function breakersOfKeys(
  { flow, flowSettings }: BreakerPorts,
  type: string,
  tenantId: string,
): Promise<ReadonlyMap<string, Breaker>> {
  const prefix = breakerName(type, tenantId, "");
  const { settings, whole } = await flow.known();
  const found = whole
    ? [...settings.values()].filter(({ name }) => name.startsWith(prefix))
    : await flow.page(prefix, () => flowSettings.named(prefix, maxRead));
  return new Map(found.map((one) => [one.name, one as Breaker]));
}

/**
 * True when the failures of a line's key are counted. A new key without room takes that of a closed key, the one with
 * the fewest failures, or of one without a task for long. False: all others are open.
 * @throws PortUnavailable
 */
export async function isCounted(ports: BreakerPorts, line: WaitQueue, nowMs: number): Promise<boolean> {
  if (!isOfKey(line)) return true;
  const [, type = "", tenantId = ""] = line.name.split("/");
  const known = await breakersOfKeys(ports, type, tenantId);
  if (known.has(line.name) || known.size < maxKeys) return true;
  const others = [...known.values()].filter(({ openUntilMs = 0 }) => openUntilMs < nowMs - idleMs);
  const [min] = others.sort((a, b) => a.failures - b.failures);
  if (min === undefined) return false;
  await ports.flowSettings.remove(min.name);
  return true;
}

/** Tasks that go in the first second after a pause or a breaker has ended, and the most in any second. */
const [firstTasks, maxTasks] = [10, 100];

/** The number of tasks a second is doubled after this time, in milliseconds. */
const doubleMs = 3_000;

/**
 * After the pause of a tier, more and more tasks go: millions may wait, of all types. That of a type or a tenant has
 * what a failure may cost in mind, and its tasks go on with the most that they reached.
 */
const maxOfTier = 2_000;

/** Then the number is doubled after this time, in milliseconds. */
const laterDoubleMs = 30_000;

/**
 * Notes when a pause or a breaker ended: its tasks start slowly, so that what was down is not flooded. A death before
 * this lets them start at the full speed.
 * @throws PortUnavailable
 */
export async function noteOpened(lines: WaitQueues, line: WaitQueue, atMs: number): Promise<void> {
  const { nextTokenMs } = await lines.state(line.name);
  await lines.acquireTokens(line.name, nextTokenMs, atMs);
}

/**
 * Tasks that may go in this second: ten at first, twice as many every three seconds, and a hundred at most; of a tier
 * twice as many every thirty seconds then, and two thousand at most.
 */
export function tasksNow(line: WaitQueue, { nextTokenMs: openedMs }: WaitQueueState, nowMs: number): number {
  if (openedMs === undefined) return maxTasks;
  const sinceMs = Math.max(0, nowMs - openedMs);
  const tasks = Math.min(maxTasks, doubled(firstTasks, sinceMs, doubleMs));
  if (tasks < maxTasks || !isOfTier(line)) return tasks;
  return Math.min(maxOfTier, doubled(maxTasks, sinceMs, laterDoubleMs));
}

const doubled = (tasks: number, sinceMs: number, everyMs: number): number =>
  tasks * 2 ** Math.min(Math.floor(sinceMs / everyMs), 10);

type TryPorts = Pick<WaitQueuePorts, "clock" | "flowSettings">;

/** A type that has a breaker. */
export type BreakingType = Pick<LimitedType, "timeoutSeconds"> & { breaker: BreakerOption };

/** Epoch milliseconds until which a task that tries now is the only one: its attempt has certainly ended then. */
const tryEndMs = (nowMs: number, { breaker, timeoutSeconds }: BreakingType): number =>
  nowMs + Math.max(breaker.coolDownSeconds, timeoutSeconds) * 1000;

/**
 * Lets one task of a breaker try now, whose cool-down is over.
 * @returns Epoch milliseconds until which it is the only one. Undefined: another call lets one try.
 * @throws PortUnavailable
 */
export async function takeTry(
  { clock, flowSettings }: TryPorts,
  line: WaitQueue,
  type: BreakingType,
  openUntilMs: number,
): Promise<number | undefined> {
  const untilMs = tryEndMs(clock.now(), type);
  return (await flowSettings.tryBreaker(line.name, openUntilMs, untilMs)) ? untilMs : undefined;
}

/**
 * True when a task that was admitted to try may do so: it was the last to be admitted. While its queue was behind,
 * others may have been admitted, and the breaker may have opened anew; then it tries only after the cool-down.
 * @throws PortUnavailable
 */
export async function mayTry(
  ports: TryPorts,
  line: WaitQueue,
  type: BreakingType,
  tryUntilMs: number,
): Promise<boolean> {
  const openUntilMs = ((await ports.flowSettings.find(line.name)) as Breaker | undefined)?.openUntilMs;
  if (openUntilMs === undefined || openUntilMs === tryUntilMs) return true;
  return ports.clock.now() >= openUntilMs && (await takeTry(ports, line, type, openUntilMs)) !== undefined;
}
