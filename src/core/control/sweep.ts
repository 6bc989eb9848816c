import type { DeadLetterMessage, Envelope } from "../model/envelope.ts";
import { type ErrorKind, errorKinds, TaskError } from "../model/errors.ts";
import { fingerprint } from "../model/idempotency.ts";
import { systemTenant } from "../model/internal-names.ts";
import { parseDeadLetter } from "../model/read-envelope.ts";
import { isKept, iso, type TaskRecord } from "../model/record.ts";
import type { Tier } from "../model/words.ts";
import { deadLetterRetention, deadLetterSeconds } from "../pipeline/send/retention.ts";
import type { DeadLetterQueues, ReceivedDeadLetter } from "../ports/queues.ts";
import type { Clock, Log, OnceStore, QueueDepths, Records } from "../ports/tasks.ts";
import { type DeadLetterKey, stillThere } from "./act-on-task.ts";
import { pause } from "./slow-start.ts";

/*
 * A replay or discard leaves messages in the DLQ. SQS deletes a message only by the receipt handle of a reader, not by
 * its id, so a sweep reads the whole DLQ once (a pass). It deletes stale messages, hides all others until the pass
 * ends, and then makes them visible again. A message is stale when its task is no longer a dead letter, or has failed
 * again later, which has created another message. Of several messages of one dead letter, all but one are surplus, and
 * deleted, too: a worker that was killed between sending a letter and noting that has sent it again. A crash of a sweep
 * costs only time: its hidden messages become visible, and its lock expires.
 */

export interface SweepPorts {
  clock: Clock;
  records: Records;
  deadLetterQueues: DeadLetterQueues;
  depths: QueueDepths;
  /** For a lock for each tier: a sweep cannot see messages that another sweep has hidden. */
  once: OnceStore;
}

/** Caller of a sweep. */
export interface Sweeper {
  /** Unique to one attempt. */
  owner: string;
  /** A reader that receives no message in this time, in seconds, 1 to 4, assumes that the DLQ is empty. Default: 1. */
  waitSeconds?: number;
  /** Epoch milliseconds at which the sweep must have ended. */
  endMs: number;
  signal: AbortSignal;
  log: Pick<Log, "info" | "warn">;
}

/** Too little time is left for a sweep: the next attempt does it. */
class SweepLater extends TaskError {
  static override readonly name: string = "SweepLater";
  readonly kind = "transient";
}

/** Number of readers at the same time. */
const readers = 4;

/** Minimum speed of a pass, from which its length is computed: far below the speed that `readers` reach. */
const deadLettersPerSecond = 200;

const minHoldSeconds = 60;

/** Maximum length of a pass: SQS allows at most 120,000 messages in flight. */
const longestHoldSeconds = minHoldSeconds + 120_000 / deadLettersPerSecond;

/** A pass stops reading this time before its hold ends, in milliseconds, to release its messages in time. */
const marginMs = 10_000;

/** Returns a short name of a dead letter. */
export const deadLetterName = (deadLetter: DeadLetterKey): string =>
  fingerprint([deadLetter.tenant_id, deadLetter.task_id, deadLetter.dead_letter_at]).slice(0, 16);

/** Result of a sweep. */
export interface Swept {
  /** Names of the letters whose messages this sweep deleted. */
  deleted: ReadonlySet<string>;
  /** Names of the letters whose messages earlier sweeps deleted in the last minutes. */
  deletedBefore: readonly string[];
  /** True when stale messages may be left: another reader had hidden messages at the start, or the time ran out. */
  mayBeHidden: boolean;
}

/**
 * Deletes the stale messages from a tier's DLQ.
 * @throws SweepLater when too little time is left, or another sweep of the tier takes too long; PortUnavailable
 */
export async function sweep(ports: SweepPorts, tier: Tier, sweeper: Sweeper): Promise<Swept> {
  const locked = await lock(ports, tier, sweeper);
  try {
    const earlier = await recentSweeps(ports, tier);
    const { deleted, cutShort } = await pass(ports, tier, sweeper, locked.untilMs);
    if (deleted.size > 0) await saveNames(ports, tier, earlier, deleted);
    return {
      deleted,
      deletedBefore: earlier.flatMap(({ names }) => names),
      mayBeHidden: locked.othersHold || cutShort,
    };
  } finally {
    await unlock(ports, tier, sweeper);
  }
}

const lockName = (tier: Tier) => ({ tenantId: systemTenant, key: `sweep of ${tier}` });

/** Waits for the tier's lock. The number of messages in the DLQ determines how long it is held. */
async function lock(ports: SweepPorts, tier: Tier, { owner, endMs, signal }: Sweeper) {
  for (;;) {
    const { visible, inFlight } = await ports.depths.ofDlq(tier);
    const now = ports.clock.now();
    const untilMs = now + holdSecondsFor(visible + inFlight) * 1000;
    if (untilMs > endMs)
      throw new SweepLater(`too little time is left to sweep the DLQ of ${tier}; the next attempt does it`);
    const times = { nowIso: iso(now), untilIso: iso(untilMs), purgeAt: Math.ceil(untilMs / 1000) + 3600 };
    const begun = await ports.once.begin({ ...lockName(tier), owner, ...times });
    if (begun.state === "mine") return { untilMs, othersHold: inFlight > 0 };
    await pause(ports.clock, 1_000, signal);
  }
}

const holdSecondsFor = (deadLetters: number): number =>
  Math.min(longestHoldSeconds, minHoldSeconds + Math.ceil(deadLetters / deadLettersPerSecond));

/** Releases the lock. When that fails, the lock expires by itself. */
const unlock = (ports: SweepPorts, tier: Tier, { owner, log }: Sweeper): Promise<void> =>
  ports.once.release({ ...lockName(tier), owner }).catch((error: unknown) => {
    log.warn("could not release the lock of a sweep; it expires by itself", { tier, error: String(error) });
  });

/** Names of the letters whose messages one sweep deleted: other operations need not wait for these messages. */
interface DeletedNames {
  at: string;
  names: string[];
}

/** Deleted names are kept for this time, in seconds. */
const namesKeptSeconds = 300;

/** Maximum number of stored names: far below the size limit of an item in the table. */
const maxNames = 10_000;

/** Key of the names that a tier's sweeps deleted. Only the holder of the lock writes them. */
const namesKey = (tier: Tier) => ({ tenant_id: systemTenant, task_id: `sweep of ${tier}` });

async function recentSweeps(ports: SweepPorts, tier: Tier): Promise<DeletedNames[]> {
  const sweeps = ((await ports.records.loadPart(namesKey(tier), "swept")) ?? []) as DeletedNames[];
  const since = iso(ports.clock.now() - namesKeptSeconds * 1000);
  return sweeps.filter(({ at }) => at >= since);
}

async function saveNames(
  ports: SweepPorts,
  tier: Tier,
  earlier: readonly DeletedNames[],
  deleted: ReadonlySet<string>,
) {
  const now = ports.clock.now();
  let room = maxNames;
  const newestFirst = [{ at: iso(now), names: [...deleted] }, ...earlier.toReversed()];
  const kept = newestFirst.filter(({ names }) => {
    room -= names.length;
    return room >= 0;
  });
  await ports.records.savePart(namesKey(tier), "swept", kept.toReversed(), Math.ceil(now / 1000) + 3600);
}

/** Result of a pass. */
interface Found {
  deleted: Set<string>;
  /** Message that is kept of each dead letter, by the letter's name. */
  kept: Map<string, string>;
  /** Number of deleted surplus messages. Their letters are not in `deleted`, as one message of each is kept. */
  surplus: number;
  /** Messages to release, without their bodies. */
  held: ReceivedDeadLetter[];
  /** True when the time ran out before the DLQ seemed empty. */
  cutShort: boolean;
}

async function pass(ports: SweepPorts, tier: Tier, sweeper: Sweeper, untilMs: number): Promise<Found> {
  const found: Found = { deleted: new Set(), kept: new Map(), surplus: 0, held: [], cutShort: false };
  const read = () => readAll(ports, tier, sweeper, { untilMs, found });
  const ends = await Promise.allSettled(Array.from({ length: readers }, read));
  await release(ports, tier, sweeper, found.held);
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  const { deleted, surplus, held } = found;
  sweeper.log.info("DLQ swept", { tier, deleted: deleted.size, surplus, kept: held.length });
  return found;
}

interface Reading {
  untilMs: number;
  found: Found;
}

/**
 * Reads until the DLQ seems empty, or the time is over. All messages are hidden to the same time, so that none comes
 * twice.
 */
async function readAll(ports: SweepPorts, tier: Tier, sweeper: Sweeper, { untilMs, found }: Reading): Promise<void> {
  for (let now = ports.clock.now(); now < untilMs - marginMs; now = ports.clock.now()) {
    sweeper.signal.throwIfAborted();
    const holdSeconds = Math.ceil((untilMs - now) / 1000);
    const deadLetters = await ports.deadLetterQueues.receive(tier, holdSeconds, sweeper.waitSeconds);
    if (deadLetters.length === 0) return;
    const judged = await Promise.all(deadLetters.map((deadLetter) => judge(ports, deadLetter, sweeper.log)));
    const stale = judged.filter(({ isStale }) => isStale);
    const current = judged.filter(({ isStale }) => !isStale);
    const surplus = current.filter((deadLetter) => isSurplus(found.kept, deadLetter));
    const held = current.filter((deadLetter) => !surplus.includes(deadLetter));
    found.held.push(...held.map(({ messageId, receiptHandle }) => ({ messageId, receiptHandle, body: "" })));
    if (stale.length + surplus.length > 0) await ports.deadLetterQueues.delete(tier, [...stale, ...surplus]);
    found.surplus += surplus.length;
    for (const { name } of stale) if (name !== undefined) found.deleted.add(name);
  }
  found.cutShort = true;
}

interface Judged extends ReceivedDeadLetter {
  /** Undefined: the body cannot be parsed. */
  name: string | undefined;
  isStale: boolean;
}

/**
 * Compares a letter with its task. A letter whose body cannot be parsed is not stale, and neither is a letter whose
 * task has no record: it is the last copy, and becomes the record, until SQS would delete it anyway. A record that is
 * there and is no dead letter, or whose retention has ended, shows that the letter is stale.
 */
async function judge(ports: SweepPorts, held: ReceivedDeadLetter, log: Sweeper["log"]): Promise<Judged> {
  const deadLetter = parseDeadLetter(held.body);
  if (deadLetter === undefined || typeof deadLetter.original_message === "string") {
    return { ...held, name: undefined, isStale: false };
  }
  const original_message = deadLetter.original_message;
  const { tenant_id, task_id } = original_message;
  const key = { tenant_id, task_id, dead_letter_at: deadLetter.last_failed_at };
  const record = await ports.records.get(key);
  if (record === undefined) {
    if (isOver(ports.clock, key.dead_letter_at)) return { ...held, name: deadLetterName(key), isStale: true };
    await restoreDeadLetter(ports, { ...deadLetter, original_message }, log);
    return { ...held, name: deadLetterName(key), isStale: false };
  }
  const isCurrent = record.dead_letter_at === key.dead_letter_at && isKept(record, ports.clock.now());
  return { ...held, name: deadLetterName(key), isStale: !isCurrent && (await stillThere(ports, key)) === undefined };
}

/** True when a dead letter's time is over: its record was deleted with its retention, and is not lost. */
const isOver = (clock: Clock, deadLetterAt: string): boolean =>
  clock.now() - Date.parse(deadLetterAt) >= deadLetterSeconds * 1000;

/**
 * True when another message of the same letter is kept. SQS may deliver one message twice, which is not another
 * message.
 */
function isSurplus(kept: Map<string, string>, { name, messageId }: Judged): boolean {
  if (name === undefined) return false;
  const first = kept.get(name) ?? messageId;
  kept.set(name, first);
  return first !== messageId;
}

/** Makes messages visible again. When that fails, they become visible when their hold ends. */
async function release(
  ports: SweepPorts,
  tier: Tier,
  { log }: Sweeper,
  held: readonly ReceivedDeadLetter[],
): Promise<void> {
  const share = Math.ceil(held.length / readers);
  const shares = Array.from({ length: readers }, (_, index) => held.slice(index * share, (index + 1) * share));
  const ends = await Promise.allSettled(shares.map((deadLetters) => ports.deadLetterQueues.release(tier, deadLetters)));
  const failed = ends.find((end) => end.status === "rejected");
  if (failed !== undefined) {
    log.warn("could not release messages of a DLQ; they become visible when their hold ends", {
      tier,
      error: String(failed.reason),
    });
  }
}

interface RestorePorts {
  records: Records;
  clock: Clock;
}

/**
 * Retention that a restored task gets once it has ended otherwise, in seconds: the default of a submit. Nobody knows
 * its own any more.
 */
const usualRetentionSeconds = 7 * 86_400;

/** A time as Offload writes it: others do not compare as text. */
const isTime = (text: string): boolean => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text);

const kindOf = (kind: string): ErrorKind | undefined => errorKinds.find((one) => one === kind);

/**
 * Makes a record from a message of the DLQ whose task has none any more, such as after the table was restored to an
 * earlier time: the dead letter is listed with what the message holds, and can be replayed. What only the record had is
 * lost: tags, files, callback, history, a retention of more than 14 days.
 * @returns False: Offload did not write the message, or somebody else has made the record.
 */
export async function restoreDeadLetter(
  ports: RestorePorts,
  deadLetter: DeadLetterMessage & { original_message: Envelope },
  log: Pick<Log, "warn">,
): Promise<boolean> {
  const { original_message: envelope, failure_kind, first_failed_at, last_failed_at } = deadLetter;
  const kind = kindOf(failure_kind);
  if (kind === undefined || ![envelope.enqueued_at, first_failed_at, last_failed_at].every(isTime)) return false;
  const record = recordFrom(ports, deadLetter, kind);
  // Before the record: a dead letter that is listed can be replayed.
  await ports.records.savePart(record, "envelope", envelope, record.purge_at);
  const earlier = await ports.records.create(record, iso(ports.clock.now()));
  const { tenant_id, task_id, type } = record;
  if (earlier === undefined)
    log.warn("a dead letter had no record any more: its message in the DLQ is the record now", {
      tenant_id,
      task_id,
      type,
    });
  return earlier === undefined || earlier.dead_letter_at === last_failed_at;
}

function recordFrom(
  ports: RestorePorts,
  { original_message: envelope, ...deadLetter }: DeadLetterMessage & { original_message: Envelope },
  kind: ErrorKind,
): TaskRecord {
  const attempts = Math.min(Math.max(0, Math.floor(deadLetter.attempt_count)), 20);
  const record: TaskRecord = {
    tenant_id: envelope.tenant_id,
    task_id: envelope.task_id,
    type: envelope.type,
    priority: deadLetter.original_queue,
    status: "failed",
    requested_by: envelope.requested_by,
    correlation_id: envelope.correlation_id,
    ...(envelope.traceparent !== undefined && { traceparent: envelope.traceparent }),
    ...(envelope.input_version !== undefined && { input_version: envelope.input_version }),
    request_hash: "restored",
    created_at: envelope.enqueued_at,
    updated_at: iso(ports.clock.now()),
    round: 1,
    attempts,
    attempts_total: attempts,
    max_attempts: envelope.max_attempts,
    due_at: envelope.enqueued_at,
    retention_seconds: usualRetentionSeconds,
    finished_at: deadLetter.last_failed_at,
    history: [],
    error: deadLetter.failure_reason,
    error_type: deadLetter.failure_type,
    error_kind: kind,
    ...(kind === "business_rule" && { needs_review: true as const }),
    first_failed_at: deadLetter.first_failed_at,
    dead_letter_at: deadLetter.last_failed_at,
    // The message is there.
    buried_at: deadLetter.last_failed_at,
    purge_at: 0,
  };
  return { ...record, ...deadLetterRetention(ports, record) };
}
