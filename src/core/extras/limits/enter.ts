import { LineUnavailable, PermanentError, PortUnavailable, TaskError, WrittenLater } from "../../model/errors.ts";
import { type Line, lineOf } from "../../model/line.ts";
import { storedInput } from "../../send/large-input.ts";
import { dataOf, parseInput } from "../../task/parsed-input.ts";
import type { TaskType } from "../../task/task.ts";
import type { TaskMessage } from "../../task/task-message.ts";
import { bucketName } from "./buckets.ts";
import type { Place } from "./held-place.ts";
import { type LimitsInForce, limitsInForce, lineFor } from "./limit-lines.ts";
import type { FlowPorts } from "./line-ports.ts";
import { takePlace } from "./take-place.ts";
import { takeStart } from "./take-start.ts";
import { mayTry } from "./try-breaker.ts";

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
  place?: Place | undefined;
}

const admitted: Admitted = { as: "admitted" };

function ofLine(error: unknown): never {
  const isOfLine = error instanceof PortUnavailable && !(error instanceof WrittenLater);
  throw isOfLine ? new LineUnavailable("the line", { cause: error }) : error;
}

/**
 * Decides if a task may start or has to wait in a line: of a pause, of its type's rate, of its type's places, in this
 * order. A type without limits costs nothing here, as the limits that operators set are known.
 * @throws PortUnavailable; LineUnavailable, when the settings are known and a line does not answer
 */
export async function enter(ports: FlowPorts, message: TaskMessage): Promise<Admitted | Stopped> {
  const { type } = message;
  const line = await stopOf(ports, message);
  if (line !== undefined) return stoppedBy(ports, message, line);
  if (type === undefined) return admitted;
  const limits = await limitsInForce(ports.flow, type);
  if (limits.concurrency === undefined && limits.rateLimit === undefined) return admitted;
  const lines = await limitLines(ports, message, type, limits);
  if ("fault" in lines) return { as: "admitted", fault: lines.fault };
  const slot = lines.rate === undefined ? {} : await takeStart(ports, message, lines.rate, type).catch(ofLine);
  if (slot === "stopped") return stoppedBy(ports, message, lines.rate as Line);
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
 * A task that something else than its line of places stops. If that line let it go, its place is given back: others
 * wait for it.
 */
async function stoppedBy(ports: FlowPorts, message: TaskMessage, line: Line): Promise<Stopped> {
  const { grant } = message;
  return { as: "stopped", line, place: grant?.held ? await placeOf(ports, message, grant.bucket) : undefined };
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
