import type { Envelope } from "../model/envelope.ts";
import { LineUnavailable, PermanentError, PortUnavailable, TaskError } from "../model/errors.ts";
import { isInternal } from "../model/internal-names.ts";
import { isOfTier, type Line, lineOf, type PauseTarget } from "../model/line.ts";
import { allShards } from "../model/line-shards.ts";
import { iso, type TaskKey, type TaskRecord } from "../model/record.ts";
import type { WaitingFor } from "../model/suspension.ts";
import type { Tier } from "../model/tier.ts";
import type { WaitingEntry, WaitingTask } from "../ports/flow.ts";
import type { SettlePorts } from "../ports/step-ports.ts";
import { dispatch } from "../send/dispatch.ts";
import { keepHistory } from "../send/keep-history.ts";
import { keepKeyUntil } from "../send/keep-key.ts";
import { storedInput } from "../send/large-input.ts";
import { newestKept } from "../send/newest-envelope.ts";
import { reportParked } from "../send/report.ts";
import { type EntryPorts, keepAllEntries } from "../steps/keep-entries.ts";
import { dataOf, parseInput } from "../task/parsed-input.ts";
import type { Registry, TaskType } from "../task/task.ts";
import { canStart, type TaskMessage } from "../task/task-message.ts";
import { advance, handOver } from "./advance.ts";
import { bucketCount, bucketName, firstTasks } from "./buckets.ts";
import { isIdle } from "./let-go-places.ts";
import { type LimitsInForce, limitsInForce, lineFor, placesOf } from "./limit-lines.ts";
import type { LinePorts } from "./line-ports.ts";
import { takenUntilMs } from "./place-end.ts";
import { firstOfAny, firstOfShard, isSharded, join, shardFor } from "./shards.ts";
import { takePlace } from "./take-place.ts";
import { takeStart } from "./take-start.ts";
import { mayTry } from "./try-breaker.ts";

export interface FlowPorts extends SettlePorts, EntryPorts, LinePorts {
  registry: Registry;
}

/** A task's place in a line. */
export interface Place {
  line: Line;
  /** The bucket of the line's places that has it. */
  bucket: number;
  /** Epoch milliseconds. Each renewal of the attempt's lease sets a later time. */
  untilMs: number;
  /** True when the task had the place before: another message of it may need it. */
  kept?: boolean;
  /** True when no attempt of the task follows. */
  over?: boolean;
  /** The renewal that runs. Absent: none ran yet. */
  renewal?: Promise<void>;
  /** The first tasks of the line, as they were read when the attempt ended. Absent: it runs. */
  next?: Promise<WaitingEntry[]>;
  /** Resolves when the place was returned to its line. Absent: the task has it. */
  left?: Promise<void>;
}

/** A task that may start. */
export interface Admitted {
  as: "admitted";
  /** The task's place. Absent: it needs none. */
  place?: Place;
  /** Epoch milliseconds before which the handler does not start. Absent: immediately. */
  slotMs?: number;
  /** The line of the rate that has given this start. */
  rate?: Line;
  /** The error with which the attempt ends without a call of the handler. Absent: none. */
  fault?: unknown;
}

/** A task that has to wait in a line. */
export interface Stopped {
  as: "stopped";
  line: Line;
  /** Epoch milliseconds of the start that its rate gave it. Absent: none yet. */
  slotMs?: number;
  /** The place with which the task was let go, and which it cannot use. Absent: none. */
  place?: Place;
}

const admitted: Admitted = { as: "admitted" };

/** A task waits at most this long in a line, in seconds: 60 days. Then its record is deleted. */
const longestLineSeconds = 60 * 86_400;

function ofLine(error: unknown): never {
  throw error instanceof PortUnavailable ? new LineUnavailable("the line", { cause: error }) : error;
}

/**
 * Decides if a task may start or has to wait in a line: of a pause, of its type's rate, of its type's places, in this
 * order. A type without limits costs nothing here, as the limits that operators set are known.
 * @throws PortUnavailable; LineUnavailable, when the settings are known and a line does not answer
 */
export async function enter(ports: FlowPorts, message: TaskMessage): Promise<Admitted | Stopped> {
  const { envelope, type } = message;
  if (isInternal(envelope)) return admitted;
  const line = await stopOf(ports, message);
  if (line !== undefined) return { as: "stopped", line, ...(await givenPlace(ports, message)) };
  if (type === undefined) return admitted;
  const limits = await limitsInForce(ports.flow, type);
  if (limits.concurrency === undefined && limits.rateLimit === undefined) return admitted;
  const lines = await limitLines(ports, message, type, limits);
  if ("fault" in lines) return { as: "admitted", fault: lines.fault };
  const slot = lines.rate === undefined ? {} : await takeStart(ports, message, lines.rate, type).catch(ofLine);
  if (slot === "stopped") return { as: "stopped", line: lines.rate as Line, ...(await givenPlace(ports, message)) };
  const start = slot.slotMs === undefined ? {} : { ...slot, rate: lines.rate as Line };
  if (lines.concurrency === undefined) return { as: "admitted", ...start };
  const place = await takePlace(ports, message, lines.concurrency, type).catch(ofLine);
  return place !== undefined
    ? { as: "admitted", place, ...start }
    : { as: "stopped", line: lines.concurrency, ...slot };
}

/**
 * The line of the pause or of the open breaker that stops a task. A breaker stops neither the task that tries nor a
 * type that has no breaker any more, as no end of a task would close it.
 */
async function stopOf(ports: FlowPorts, { envelope, delivery, type, grant }: TaskMessage): Promise<Line | undefined> {
  const work = { tier: delivery.tier, type: envelope.type, tenantId: envelope.tenant_id };
  const stop = await ports.flow.stopOf(work, type?.breaker !== undefined);
  const line = stop === undefined ? undefined : lineOf(stop);
  if (line?.kind !== "breaker" || type?.breaker === undefined) return line;
  if (grant?.tryUntilMs === undefined) return line;
  return (await mayTry(ports, line, { ...type, breaker: type.breaker }, grant.tryUntilMs)) ? undefined : line;
}

/**
 * The place of a task that was let go by its line of places. It is given back when something else stops the task:
 * others wait for it.
 */
async function givenPlace(ports: FlowPorts, message: TaskMessage): Promise<{ place?: Place }> {
  const { grant } = message;
  const place = grant?.held ? await placeOf(ports, message, grant.bucket) : undefined;
  return place === undefined ? {} : { place };
}

/**
 * The place of a task in a bucket of its line. Undefined: it has none.
 * @throws PortUnavailable
 */
export async function placeOf(ports: FlowPorts, message: TaskMessage, bucket = 0): Promise<Place | undefined> {
  const { type, envelope } = message;
  const limits = type && (await limitsInForce(ports.flow, type));
  if (type === undefined || limits?.concurrency === undefined) return undefined;
  const lines = await limitLines(ports, message, type, { concurrency: limits.concurrency });
  if ("fault" in lines || lines.concurrency === undefined) return undefined;
  const line = lines.concurrency;
  const untilMs = (await ports.lines.state(bucketName(line, bucket))).places.get(envelope.task_id);
  return untilMs === undefined ? undefined : { line, bucket, untilMs, kept: true };
}

interface LimitLines {
  concurrency?: Line | undefined;
  rate?: Line | undefined;
}

/** The lines of a type's limits for one task. An input that does not fit has none: the attempt says so. */
async function limitLines(
  ports: FlowPorts,
  { envelope }: TaskMessage,
  type: TaskType,
  { concurrency, rateLimit }: LimitsInForce,
): Promise<LimitLines | { fault: unknown }> {
  try {
    const needsInput = concurrency?.key !== undefined || rateLimit?.key !== undefined;
    const given = !needsInput || envelope.input_ref === undefined ? envelope.input : await storedInput(ports, envelope);
    const input = needsInput ? dataOf(await parseInput(type, given, envelope.input_version ?? 1)) : undefined;
    const of = { tenantId: envelope.tenant_id, input };
    return {
      concurrency: concurrency && lineFor("concurrency", type, concurrency, of),
      rate: rateLimit && lineFor("rate", type, rateLimit, of),
    };
  } catch (error) {
    if (error instanceof PortUnavailable) throw error;
    return { fault: error instanceof TaskError ? error : keyFault(error) };
  }
}

/** No further attempt can help: the key is the type's own code. */
const keyFault = (cause: unknown): PermanentError =>
  new PermanentError(`the key of a limit: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });

/**
 * Puts a task that could start now into a line, which has its message then. The record first: a task that has ended is
 * not put into one.
 * @returns Undefined when it waits; otherwise the record of a task that cannot start anyway.
 * @throws PortUnavailable
 */
export async function park(
  ports: FlowPorts,
  message: TaskMessage,
  { line, slotMs, place }: Stopped,
): Promise<{ unfit: TaskRecord | undefined } | undefined> {
  const { delivery, envelope, grant } = message;
  const now = ports.clock.now();
  const changed = await ports.records.change(envelope, {
    when: canStart(message, now),
    set: {
      line: line.name,
      waiting_for: waitingIn(line),
      updated_at: iso(now),
      purge_at: Math.ceil(now / 1000) + longestLineSeconds,
    },
  });
  if (!changed.done) return { unfit: changed.record };
  const { record } = changed;
  await keepKeyUntil(ports, record, record.purge_at);
  // The line keeps the message for longer than a part with a new input.
  const newest = await newestKept(ports, record, envelope);
  await keepAllEntries(ports, record, record.purge_at);
  await keepHistory(ports, { ...record, purge_at: 0 }, record.purge_at);
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
    ...(grant?.tryUntilMs !== undefined && { tryUntilMs: grant.tryUntilMs }),
  };
  const waiting = await join(ports, line, entry, record.purge_at);
  ports.flow.lines.noteJoined(line.name, true);
  if (isOfTier(line)) await followMove(ports, line, record, waiting);
  await endInTime(ports, record, newest);
  reportParked(ports, record);
  ports.taker?.limitBehind(now - Date.parse(record.due_at));
  // The line may have become free before the task was in it.
  await advance(ports, line, { tier, added: waiting });
  if (place !== undefined) await leave(ports, place, envelope, tier);
  return undefined;
}

/**
 * Sends a task on that was moved out of a paused tier before it was in the line: the call that moved it found no
 * message there.
 */
async function followMove(ports: FlowPorts, line: Line, record: TaskRecord, waiting: WaitingTask): Promise<void> {
  const present = await ports.records.get(record, "consistently");
  if (present === undefined || present.priority === record.priority || present.line !== line.name) return;
  await dispatch(ports, present, waiting.envelope);
  await ports.lines.remove(line.name, waiting);
}

/**
 * Sends a message for the time at which a task expires, if somebody waits for its end: its line may not let it go for
 * days.
 */
async function endInTime(ports: FlowPorts, record: TaskRecord, envelope: Envelope): Promise<void> {
  const { start_by: due_at, family_leaf, callback } = record;
  if (due_at === undefined || (family_leaf === undefined && callback === undefined)) return;
  await dispatch(ports, { ...record, due_at }, envelope);
}

function waitingIn({ name, kind }: Line): WaitingFor {
  return kind === "pause" ? { kind, of: name.split("/")[1] as PauseTarget["scope"] } : { kind };
}

/** Keeps the place of a running attempt as long as its lease. */
export function keepPlace(ports: FlowPorts, place: Place, task: TaskKey, type: TaskType): Promise<void> {
  place.renewal = renewPlace(ports, place, task, type);
  return place.renewal;
}

async function renewPlace(ports: FlowPorts, place: Place, task: TaskKey, type: TaskType): Promise<void> {
  const untilMs = takenUntilMs(ports.clock.now(), type);
  if (await ports.lines.keepPlace(bucketName(place.line, place.bucket), task.task_id, untilMs)) place.untilMs = untilMs;
}

/** Starts to read the next tasks of the line. The answer is there when the attempt is settled. */
export function readNext(ports: FlowPorts, place: Place): void {
  place.next = nextOf(ports, place);
  const note = (next: readonly WaitingEntry[]) => {
    if (next.length === 0) ports.flow.lines.noteJoined(place.line.name, false);
  };
  // `leave` waits for the answer, and hears of the error.
  place.next.then(note, () => {});
}

async function nextOf(ports: FlowPorts, { line }: Place): Promise<WaitingEntry[]> {
  const { flow, lines, registry, taker, bucketSize: size } = ports;
  // The task itself is among them until it has left.
  await taker?.left;
  const limit = (await placesOf(flow, registry.get(line.type ?? ""))) ?? 1;
  const sizes = { limit, size };
  const most = firstTasks(sizes);
  if (!(await isSharded(ports, line))) return lines.first(line.name, most);
  if (bucketCount(sizes) === 1) return lines.first(line.name, most, allShards);
  const state = await lines.state(line.name);
  if (isIdle(state)) return [];
  if (state.sharded === undefined) return lines.first(line.name, most);
  // Who finds none here gives the place back, and looks at all shards.
  return firstOfAny(ports, line, firstOfShard);
}

/**
 * Returns a task's place to its line, once, and lets the next task go. Never throws: a place that is not given back
 * ends.
 * @param tier Tier in whose queue a check of the line waits.
 */
export function leave(ports: FlowPorts, place: Place, task: Pick<TaskKey, "task_id">, tier: Tier): Promise<void> {
  place.left ??= leaveNow(ports, place, task, tier);
  return place.left;
}

async function leaveNow(ports: FlowPorts, place: Place, task: Pick<TaskKey, "task_id">, tier: Tier): Promise<void> {
  // A renewal that is under way changes the time at which the place ends.
  await place.renewal?.catch(() => {});
  try {
    const held = { task: task.task_id, untilMs: place.untilMs, bucket: place.bucket };
    // Without an answer about the next task the place is given back all the same.
    const next = await place.next?.catch(() => []);
    const isBack = await handOver(ports, place.line, held, { tier, next });
    if (!isBack && place.over) await leaveKept(ports, place, task, tier);
  } catch (error) {
    if (!(error instanceof PortUnavailable)) throw error;
    ports.log.warn("could not give a place back; it is free again when it ends", { error: String(error) });
  }
}

/** Goes on with the line of a rate in which a task has waited. Never throws: the line is looked at again. */
export async function goOn(ports: FlowPorts, line: Line, tier: Tier): Promise<void> {
  try {
    await advance(ports, line, { tier });
  } catch (error) {
    if (!(error instanceof PortUnavailable)) throw error;
    ports.log.warn("could not go on with a line; it is looked at again", { error: String(error) });
  }
}

/** A second message, which came during the attempt, has kept the place until a later time. */
async function leaveKept(
  ports: FlowPorts,
  { line, bucket }: Place,
  { task_id: task }: Pick<TaskKey, "task_id">,
  tier: Tier,
): Promise<void> {
  const untilMs = (await ports.lines.state(bucketName(line, bucket))).places.get(task);
  if (untilMs !== undefined) await handOver(ports, line, { task, untilMs, bucket }, { tier });
}
