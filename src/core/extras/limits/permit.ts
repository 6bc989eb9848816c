import { type LineCheck, permitIn } from "../../model/envelope.ts";
import { PortUnavailable, WrittenLater } from "../../model/errors.ts";
import type { TaskRecord } from "../../model/record.ts";
import { lineOf, type WaitQueue } from "../../model/wait-queue.ts";
import { laterReleaseSeconds, sayLater } from "../../pipeline/send/dispatch.ts";
import type { Successor, WaitQueueState } from "../../ports/flow.ts";
import type { Verdict } from "../../ports/queues.ts";
import type { Delivery } from "../../ports/tasks.ts";
import type { Limiter, Permit, Settled } from "../../task/limiter.ts";
import type { TaskMessage } from "../../task/puller.ts";
import { untilStart } from "./acquire.ts";
import { type Admitted, admit, enqueue, faultOfList, permitInBucket } from "./admit.ts";
import { advance } from "./advance.ts";
import { countEnd, passTry } from "./breaker.ts";
import { type HeldPermit, readNext, release, renew } from "./held-permit.ts";
import { permitsOf } from "./limit-lines.ts";
import { bucketName, bucketOf } from "./shards.ts";
import { answerOf, orWarn } from "./sure-write.ts";
import type { FlowPorts, WaitQueuePorts } from "./wait-queue-ports.ts";

/** The limiter as it is, behind its door: loaded with the first task that it may stop. */
export const wholeLimiter: Limiter<FlowPorts> = {
  async admit(ports, message) {
    const admission = await admit(ports, message);
    if (admission.as === "admitted") return permitOf(ports, message, admission);
    return {
      as: "waiting",
      enqueue: () => enqueue(ports, message, admission),
      refused: (record) => giveUp(ports, message, record, admission.permit),
    };
  },
  async ofCrashed(ports, message, { place_bucket }) {
    const permit = await permitInBucket(ports, message, place_bucket);
    return permit && permitOf(ports, message, { as: "admitted", permit });
  },
  settled: (ports, message, as) => orWarn(ports.log, "could not count for the breaker", countEnd(ports, message, as)),
  check: checkLine,
};

/** After these, a task goes on later. */
const goesOn: readonly Settled["as"][] = ["retried", "suspended", "waiting"];

/** The permit and the start of one message's task. It has none of them where a breaker alone could have stopped it. */
function permitOf(ports: FlowPorts, message: TaskMessage, { permit, slotMs, rate, fault }: Admitted): Permit {
  const { envelope, delivery, ticket } = message;
  const giveBack = async () => {
    if (permit !== undefined) await release(ports, permit, envelope, delivery.tier);
  };
  return {
    ...{ as: "permit", startMs: slotMs, bucket: permit?.bucket, fault, giveBack },
    turn: permit?.turn ? permit.line.name : undefined,
    ticket: { ...(permit !== undefined && permitIn(permit.bucket)), ...(slotMs !== undefined && { slotMs }) },
    faultOfList: (list) => faultOfList(ports, { envelope: list, type: message.type }),
    untilStart: async () => rate === undefined || slotMs === undefined || untilStart(ports, message, rate, slotMs),
    async renew(record, type) {
      if (permit !== undefined) await renew(ports, permit, record, type);
    },
    handlerEnded() {
      // A task that waited for its permit may have others behind it, as one has whose line others joined here.
      if (permit === undefined || !(ticket?.hasPermit || ports.flow.lines.isJoined(permit.line.name))) return;
      if (permit.turn) permit.readsLate = true;
      else readNext(ports, permit);
    },
    settled(as) {
      if (permit === undefined) return;
      permit.stays = permit.turn === true && goesOn.includes(as);
      // A failed task may be retried by an operator at any time.
      if (as === "completed" || as === "cancelled") permit.over = true;
      // The permit is passed on while others are notified of the end. A failure is counted before.
      if (as === "completed") void giveBack();
    },
    async end() {
      if (permit !== undefined) return giveBack();
      if (rate === undefined || ticket?.slotMs === undefined) return;
      // The line of the rate in which the task has waited.
      const gone = advance(ports, rate, { tier: delivery.tier });
      await orWarn(ports.log, "could not go on with a line; it is looked at again", gone);
    },
    async unclaimed() {
      if (!permit?.kept) await giveBack();
    },
    refused: (record) => giveUp(ports, message, record, permit),
  };
}

/**
 * Returns to its lines what a task was admitted with that cannot start. Not a permit that another message's attempt
 * has, or that of a task in its new tier may be about to start with.
 */
async function giveUp(
  ports: FlowPorts,
  message: TaskMessage,
  record: TaskRecord | undefined,
  permit: HeldPermit | undefined,
): Promise<void> {
  const { envelope, delivery, ticket } = message;
  if (record?.status === "processing") {
    // The permit of a twin that was admitted into another bucket.
    if (permit !== undefined && permit.bucket !== (record.place_bucket ?? 0))
      await release(ports, permit, envelope, delivery.tier);
    return;
  }
  const isMoved = record?.status === "pending" && record.priority !== delivery.tier;
  if (permit !== undefined && !(permit.kept && isMoved)) await release(ports, permit, envelope, delivery.tier);
  if (ticket?.tryUntilMs === undefined) return;
  const passed = passTry(ports, message, ticket.tryUntilMs);
  await orWarn(ports.log, "could not let another task try", passed);
}

/**
 * Goes on with the line that a message names. A worker of a tier that is behind takes the next task of a rate itself;
 * permits are free at the same time, so their tasks go by message.
 */
function checkLine(ports: FlowPorts, delivery: Delivery, check: LineCheck): Promise<Verdict> {
  const { tier } = delivery;
  const coming = successorIn(check);
  if (coming !== undefined) {
    // The other messages of its batch do not wait for it.
    const text = "a worker could not go on with a line; it is looked at again";
    ports.puller?.succeeds(orWarn(ports.log, text, succeed(ports, delivery, coming)));
    return Promise.resolve("done");
  }
  const line = lineOf(check.line);
  if (line === undefined) return lookLater(ports, delivery, check, new WrittenLater("a line"));
  const { puller } = ports;
  const working = { ...ports, puller: line.kind === "rate" ? puller : undefined };
  const advanced = advance(working, line, { tier, checkId: check.check_id });
  return advanced.then(
    () => "done",
    // An outage lasts: a check that is sent again meanwhile would go round in its queue, and each copy with it.
    (error: unknown) => (isOutage(error) ? "again" : lookLater(ports, delivery, check, error)),
  );
}

/** A form of a later release is no outage: it may last for days. */
const isOutage = (error: unknown): boolean => error instanceof PortUnavailable && !(error instanceof WrittenLater);

/**
 * The tasks of a line depend on its check: where its code fails, it is sent again, as many receives would bring it to
 * redrive. No error of a line reaches the other messages of the batch.
 */
function lookLater(ports: FlowPorts, { tier, runsOn }: Delivery, check: LineCheck, error: unknown): Promise<Verdict> {
  const { log, queues } = ports;
  if (error instanceof WrittenLater) sayLater(ports, error);
  else log.error("could not look at a line; it is looked at again", { line: check.line, error: String(error) });
  return queues.sendCheck({ tier, runsOn, check, delaySeconds: laterReleaseSeconds(ports) }).then(
    () => "done",
    () => "again",
  );
}

/*
 * In a tier that is behind, a line would wait for a message that passes the queue after each worker's share. So the
 * message is sent early, and the worker goes on until a successor has received it. The successor notes in the line's
 * state that a permit is waited for, and gets the next permit that is passed on. The successor has it under its own id,
 * as a task would, and hands the permit over as if a task had ended. After a successor's death the permit ends.
 */

/** A successor waits at most this long for a permit, in milliseconds: tasks that take longer go by message. */
const longestWaitMs = 30_000;

/** A successor looks for its permit this often, in milliseconds. */
const lookEachMs = 250;

/**
 * A permit that is free in this many looks in a row shows that no task waits. In a single look it may be the permit of
 * a worker that has chosen the same task as its neighbour.
 */
const maxFree = 3;

/** A successor, in a bucket of a line's permits. */
interface Coming {
  line: WaitQueue;
  bucket: number;
  id: string;
}

const checkPattern = /^places\/(\d{1,6})\/(.+)$/s;

/** Reads the check that a worker sends for its successor. Undefined: it is another one. */
export function successorIn({ line: name, check_id: id }: LineCheck): Coming | undefined {
  const [, bucket, ofLine = ""] = checkPattern.exec(name) ?? [];
  const line = lineOf(ofLine);
  return bucket === undefined || line === undefined ? undefined : { line, bucket: Number(bucket), id };
}

/**
 * Waits for a permit, and takes the next task of the line with it.
 * @throws PortUnavailable
 */
export async function succeed(ports: FlowPorts, delivery: Delivery, coming: Coming): Promise<void> {
  const untilMs = await permitFor(ports, delivery, coming);
  if (untilMs === undefined) return;
  const { line, bucket, id } = coming;
  const permit = { line, bucket, untilMs };
  readNext(ports, permit);
  await release(ports, permit, { task_id: id }, delivery.tier);
}

/** @returns Epoch milliseconds: the end of the permit that the successor has got. Undefined: it has none. */
async function permitFor(ports: FlowPorts, { tier }: Delivery, coming: Coming): Promise<number | undefined> {
  const { clock, lines, puller, isStopping } = ports;
  const { line, bucket: index, id } = coming;
  const name = bucketName(line, index);
  const waitsUntilMs = clock.now() + longestWaitMs;
  const room = await roomIn(ports, line, index);
  for (let free = 0; ; ) {
    const state = await answerOf(lines.state(name));
    if (state?.permits.has(id)) return state.permits.get(id);
    const isFree = state !== undefined && state.permits.size < room;
    if (isFree) await advance(ports, line, { tier, changed: { index, state } });
    free = isFree ? free + 1 : 0;
    const isOver = !puller?.isFree || free === maxFree || clock.now() >= waitsUntilMs || isStopping?.();
    // The permit may have come since the look.
    if (isOver && (await isDone(ports, name, state, id))) return undefined;
    if (!isOver) await waitOn(ports, name, state, { id, untilMs: waitsUntilMs });
  }
}

/** Notes that a successor waits, unless another one does, until its next look. */
async function waitOn(
  { clock, lines }: WaitQueuePorts,
  name: string,
  state: WaitQueueState | undefined,
  own: Successor,
) {
  const now = clock.now();
  if (state !== undefined && (state.successor?.untilMs ?? 0) <= now) await answerOf(lines.awaitPermit(name, own, now));
  await new Promise<void>((resolve) => clock.after(lookEachMs, resolve));
}

const isDone = async (
  { lines }: WaitQueuePorts,
  name: string,
  state: WaitQueueState | undefined,
  id: string,
): Promise<boolean> => state?.successor?.id !== id || (await lines.endWait(name, id));

async function roomIn(ports: WaitQueuePorts, line: WaitQueue, index: number): Promise<number> {
  const { registry, bucketSize: size } = ports;
  const limit = await permitsOf(ports, registry.get(line.type ?? ""), line);
  return limit === undefined ? 0 : bucketOf(line, index, { limit, size }).room;
}
