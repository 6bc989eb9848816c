import { LineUnavailable, PortUnavailable, TaskError, WrittenLater } from "../../model/errors.ts";
import { iso, type TaskRecord } from "../../model/record.ts";
import type { WaitingFor } from "../../model/suspension.ts";
import {
  entryMarginSeconds,
  isOfTier,
  lineOf,
  longestLineSeconds,
  type PauseTarget,
  type WaitQueue,
} from "../../model/wait-queue.ts";
import { dispatch } from "../../pipeline/send/dispatch.ts";
import * as extras from "../../pipeline/send/extras.ts";
import { newestKept } from "../../pipeline/send/kept-input.ts";
import { reportEnqueued } from "../../pipeline/send/report.ts";
import type { WaitingTask } from "../../ports/flow.ts";
import { canStart, type TaskMessage } from "../../task/puller.ts";
import type { TaskType } from "../../task/task.ts";
import { strictOf } from "../../task/type-limits.ts";
import { acquirePermit, acquireToken } from "./acquire.ts";
import { advance } from "./advance.ts";
import { type HeldPermit, release } from "./held-permit.ts";
import { breakerAt, breakerLine, mayTry } from "./keyed-breakers.ts";
import { inputsFor } from "./limit-input.ts";
import {
  keyFault,
  type LimitsByInput,
  type LimitsInForce,
  limitsFor,
  limitsInForce,
  lineFor,
  lineOfList,
  noteLimit,
  paceOf,
  permitsOf,
  stopOf,
} from "./limit-lines.ts";
import { bucketName, bucketsFor, join, shardFor } from "./shards.ts";
import { takeTurn } from "./strict-order.ts";
import { aheadMs, type FlowPorts } from "./wait-queue-ports.ts";

/** A task that may start. */
export interface Admitted {
  as: "admitted";
  /** The task's permit. Absent: it needs none. */
  permit?: HeldPermit;
  /** Epoch milliseconds before which the handler does not start. Absent: immediately. */
  slotMs?: number;
  /** The line of the rate that has given this start. */
  rate?: WaitQueue;
  /** The error with which the attempt ends without a call of the handler. Absent: none. */
  fault?: unknown;
}

/** A task that has to wait in a line. */
export interface Waiting {
  as: "waiting";
  line: WaitQueue;
  /** Epoch milliseconds of the start that its rate gave it. Absent: none yet. */
  slotMs?: number;
  /** The permit with which the task was admitted, and which it cannot use. Absent: none. */
  permit?: HeldPermit | undefined;
  /** True: the task has its permit while it waits for its next start, which is near. */
  keepsPermit?: boolean;
}

const admitted: Admitted = { as: "admitted" };

function ofLine(error: unknown): never {
  const isOfLine = error instanceof PortUnavailable && !(error instanceof WrittenLater);
  throw isOfLine ? new LineUnavailable("the line", { cause: error }) : error;
}

/**
 * Decides if a task may start or has to wait in a line: of a pause, of its type's rate, of its type's permits, in this
 * order. A type without limits costs nothing here, as the limits that operators set are known.
 * @throws PortUnavailable; LineUnavailable, when the settings are known and a line does not answer
 */
export async function admit(ports: FlowPorts, message: TaskMessage): Promise<Admitted | Waiting> {
  const { type } = message;
  const line = await lineThatStops(ports, message);
  if (line !== undefined && "fault" in line) return { as: "admitted", fault: line.fault };
  if (type !== undefined && strictOf(type) !== undefined) return admitInTurn(ports, message, type, line);
  if (line !== undefined) return waitingBehind(ports, message, line);
  if (type === undefined) return admitted;
  const limits = await limitsInForce(ports.flow, type);
  if (limits.concurrency === undefined && limits.rateLimit === undefined) return admitted;
  const lines = await limitLines(ports, message, type, limits);
  if ("fault" in lines) return { as: "admitted", fault: lines.fault };
  if (lines.byInput !== undefined) await noteLimits(ports, message, lines).catch(ofLine);
  const token = lines.rate === undefined ? {} : await acquireToken(ports, message, lines.rate, type).catch(ofLine);
  if (token === "stopped") {
    const waiting = await waitingBehind(ports, message, lines.rate as WaitQueue);
    return { ...waiting, keepsPermit: await mayKeep(ports, message, type, waiting) };
  }
  const start = token.slotMs === undefined ? {} : { ...token, rate: lines.rate as WaitQueue };
  if (lines.concurrency === undefined) return { as: "admitted", ...start };
  const permit = await acquirePermit(ports, message, lines.concurrency, type).catch(ofLine);
  return permit !== undefined
    ? { as: "admitted", permit, ...start }
    : { as: "waiting", line: lines.concurrency, ...token };
}

async function noteLimits(
  ports: FlowPorts,
  { envelope }: TaskMessage,
  { concurrency, rate, byInput: { permits, starts } = {} }: LimitWaitQueues,
): Promise<void> {
  const atMs = Date.parse(envelope.enqueued_at) || 0;
  if (concurrency !== undefined && permits !== undefined) await noteLimit(ports, concurrency, { value: permits, atMs });
  if (rate !== undefined && starts !== undefined) await noteLimit(ports, rate, { value: starts, atMs });
}

/**
 * The same for a type whose tasks of a key run in strict order: its turn is first, as tasks that wait in the line of a
 * pause or of a rate have no order with others. It keeps the turn while it waits there.
 */
async function admitInTurn(
  ports: FlowPorts,
  message: TaskMessage,
  type: TaskType,
  stop: WaitQueue | undefined,
): Promise<Admitted | Waiting> {
  const lines = await limitLines(ports, message, type, await limitsInForce(ports.flow, type));
  if ("fault" in lines)
    return stop === undefined ? { as: "admitted", fault: lines.fault } : waitingBehind(ports, message, stop);
  if (lines.byInput !== undefined) await noteLimits(ports, message, lines).catch(ofLine);
  const { concurrency, rate } = lines;
  const permit = concurrency && (await takeTurn(ports, message, concurrency, type).catch(ofLine));
  if (permit === undefined) return { as: "waiting", line: concurrency as WaitQueue };
  if (stop !== undefined) return { as: "waiting", line: stop, permit, keepsPermit: true };
  if (rate === undefined) return { as: "admitted", permit };
  const token = await acquireToken(ports, message, rate, type).catch(ofLine);
  if (token === "stopped") return { as: "waiting", line: rate, permit, keepsPermit: true };
  return { as: "admitted", permit, ...(token.slotMs !== undefined && { ...token, rate }) };
}

/**
 * The line of the pause or of the open breaker that stops a task. A breaker stops neither the task that tries nor a
 * type that has no breaker any more, as no end of a task would close it.
 */
async function lineThatStops(
  ports: FlowPorts,
  message: TaskMessage,
): Promise<WaitQueue | { fault: unknown } | undefined> {
  const { envelope, delivery, type, ticket } = message;
  const work = { tier: delivery.tier, type: envelope.type, tenantId: envelope.tenant_id };
  const isKeyed = type?.breaker?.key !== undefined;
  const stop = await stopOf(ports.flow, work, type?.breaker !== undefined && !isKeyed);
  const paused = stop === undefined ? undefined : lineOf(stop);
  const line = paused ?? (isKeyed ? await openOfKey(ports, message) : undefined);
  if (line === undefined || "fault" in line || line.kind !== "breaker" || type?.breaker === undefined) return line;
  if (ticket?.tryUntilMs === undefined) return line;
  return (await mayTry(ports, line, { ...type, breaker: type.breaker }, ticket.tryUntilMs)) ? undefined : line;
}

/** The line of the open breaker of a task's key. Undefined: it is closed. A fault: the type's code gives no key. */
async function openOfKey(ports: FlowPorts, message: TaskMessage): Promise<WaitQueue | { fault: unknown } | undefined> {
  const line = await breakerLine(ports, message);
  if ("fault" in line) return line;
  return (await breakerAt(ports, line))?.openUntilMs === undefined ? undefined : line;
}

/**
 * A task that something else than its line of permits stops. If that line let it go, its permit is given back: others
 * wait for it.
 */
async function waitingBehind(ports: FlowPorts, message: TaskMessage, line: WaitQueue): Promise<Waiting> {
  const { ticket } = message;
  return {
    as: "waiting",
    line,
    permit: ticket?.hasPermit ? await permitInBucket(ports, message, ticket.bucket) : undefined,
  };
}

/**
 * True where a task's next start comes while it has its permit: a task that gave the permit back would wait for another
 * one with its start, lose that start meanwhile, and so on. It goes before the tasks that have not had a start yet, as
 * it was submitted before them. Its next message looks for the permit in the first bucket that the task asks.
 */
async function mayKeep(
  { flow, clock, lines, bucketSize: size }: FlowPorts,
  { envelope }: TaskMessage,
  type: TaskType,
  { line: rate, permit }: Waiting,
): Promise<boolean> {
  const pace = await paceOf({ flow, lines }, type, rate);
  if (permit === undefined || pace === undefined) return false;
  const limit = (await permitsOf({ flow, lines }, type, permit.line)) ?? 1;
  const [asked] = bucketsFor(permit.line, envelope.task_id, { limit, size });
  const soonMs = clock.now() + aheadMs + 2 * pace.intervalMs;
  const startMs = pace.list?.freeFrom(await lines.state(rate.name), soonMs) ?? soonMs;
  const isNear = startMs < permit.untilMs;
  return isNear && permit.bucket === asked?.index;
}

/**
 * The permit of a task in a bucket of its line. Undefined: it has none.
 * @throws PortUnavailable
 */
export async function permitInBucket(
  ports: FlowPorts,
  message: TaskMessage,
  bucket = 0,
): Promise<HeldPermit | undefined> {
  const { type, envelope } = message;
  const limits = type && (await limitsInForce(ports.flow, type));
  if (type === undefined || limits?.concurrency === undefined) return undefined;
  const lines = await limitLines(ports, message, type, { concurrency: limits.concurrency });
  if ("fault" in lines || lines.concurrency === undefined) return undefined;
  const line = lines.concurrency;
  const untilMs = (await ports.lines.state(bucketName(line, bucket))).permits.get(envelope.task_id);
  const turn = strictOf(type) !== undefined;
  return untilMs === undefined ? undefined : { line, bucket, untilMs, kept: true, turn };
}

/** The lines of a type's limits for one task. */
interface LimitWaitQueues {
  concurrency?: WaitQueue | undefined;
  rate?: WaitQueue | undefined;
  /** The limits of the key, of a type whose limits are functions of the input. */
  byInput?: LimitsByInput | undefined;
}

/** An input that does not fit has no lines: the attempt says so. Nor has an empty list, which has no fault either. */
async function limitLines(
  ports: FlowPorts,
  { envelope }: Pick<TaskMessage, "envelope">,
  type: TaskType,
  { concurrency, rateLimit }: LimitsInForce,
): Promise<LimitWaitQueues | { fault: unknown }> {
  try {
    const needsInput = concurrency?.key !== undefined || rateLimit?.key !== undefined;
    const inputs = needsInput ? await inputsFor(ports, envelope, type) : [];
    if (needsInput && inputs.length === 0) return { fault: undefined };
    const of = { tenantId: envelope.tenant_id, inputs };
    return {
      concurrency: concurrency && lineFor("concurrency", type, concurrency, of),
      rate: rateLimit && (rateLimit.longer ? lineOfList : lineFor)("rate", type, rateLimit, of),
      ...(needsInput && { byInput: limitsFor(type, inputs[0]) }),
    };
  } catch (error) {
    if (error instanceof PortUnavailable) throw error;
    return { fault: error instanceof TaskError ? error : keyFault(error) };
  }
}

/**
 * The fault of a closed list whose inputs differ in a key: it has started by the key of the first one. Undefined: it
 * has none.
 */
export async function faultOfList(ports: FlowPorts, message: Pick<TaskMessage, "envelope" | "type">): Promise<unknown> {
  const { type } = message;
  if (type === undefined) return undefined;
  const lines = await limitLines(ports, message, type, type);
  if ("fault" in lines) return lines.fault;
  const breaker = await breakerLine(ports, message);
  return "fault" in breaker ? breaker.fault : undefined;
}

/**
 * Puts a task that could start now into a line, which has its message then. The record first: a task that has ended is
 * not put into one.
 * @returns Undefined when it waits; otherwise the record of a task that cannot start anyway.
 * @throws PortUnavailable
 */
export async function enqueue(
  ports: FlowPorts,
  message: TaskMessage,
  { line, slotMs, permit, keepsPermit }: Waiting,
): Promise<{ unfit: TaskRecord | undefined } | undefined> {
  const { delivery, envelope, ticket } = message;
  const now = ports.clock.now();
  const changed = await ports.records.change(envelope, {
    when: canStart(message, now),
    set: {
      line: line.name,
      waiting_for: waitingIn(line, message.type),
      updated_at: iso(now),
      purge_at: Math.ceil(now / 1000) + longestLineSeconds,
    },
  });
  if (!changed.done) return { unfit: changed.record };
  const { record } = changed;
  // The line keeps the message for longer than a part with a new input.
  const newest = await newestKept(ports, record, envelope);
  // A task that has not waited for a time before has no message beside its record.
  const isNew = record.attempts_total === 0 && record.round === 1 && record.run_at === undefined;
  const stored = isNew && message.type?.keepInput !== true ? null : undefined;
  // After the change: the record as it was is not at hand, and a message whose process dies here comes again.
  await extras.keepAll(ports, { ...record, purge_at: 0 }, record.purge_at, stored);
  const { tier, runsOn } = delivery;
  const entry = {
    id: ports.newId(),
    tier,
    runsOn,
    envelope: newest,
    createdAt: record.created_at,
    taskId: record.task_id,
    tenantId: record.tenant_id,
    sinceMs: now,
    ...(await shardFor(ports, line, record.task_id)),
    ...(slotMs !== undefined && { slotMs }),
    ...(ticket?.tryUntilMs !== undefined && { tryUntilMs: ticket.tryUntilMs }),
  };
  const waiting = await join(ports, line, entry, record.purge_at + entryMarginSeconds);
  ports.flow.lines.noteJoined(line.name, true);
  if (isOfTier(line)) await followMove(ports, line, record, waiting);
  // Its line may not let it go for days, and somebody waits for its end: a message comes at the time of its expiry.
  const { start_by: due_at, family_leaf, callback } = record;
  const isAwaited = family_leaf !== undefined || callback !== undefined;
  if (due_at !== undefined && isAwaited) await dispatch(ports, { ...record, due_at }, newest);
  reportEnqueued(ports, record);
  ports.puller?.limitBehind(now - Date.parse(record.due_at));
  // The line may have become free before the task was in it.
  await advance(ports, line, { tier, added: waiting });
  if (permit !== undefined && !keepsPermit) await release(ports, permit, envelope, tier);
  return undefined;
}

/**
 * Sends a task on that was moved out of a paused tier before it was in the line: the call that moved it found no
 * message there.
 */
async function followMove(ports: FlowPorts, line: WaitQueue, record: TaskRecord, waiting: WaitingTask): Promise<void> {
  const present = await ports.records.get(record, "consistently");
  if (present === undefined || present.priority === record.priority || present.line !== line.name) return;
  await dispatch(ports, present, waiting.envelope);
  await ports.lines.remove(line.name, waiting);
}

function waitingIn({ name, kind }: WaitQueue, type: TaskType | undefined): WaitingFor {
  if (kind === "concurrency" && strictOf(type) !== undefined) return { kind, order: "strict" };
  const { longer } = type?.rateLimit ?? {};
  if (kind === "rate" && longer !== undefined) return { kind, rates: 1 + longer.length };
  return kind === "pause" ? { kind, of: name.split("/")[1] as PauseTarget["scope"] } : { kind };
}
