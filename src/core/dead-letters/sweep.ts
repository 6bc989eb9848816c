import { parseDeadLetter } from "../envelope.ts";
import { TaskError } from "../errors.ts";
import { fingerprint } from "../idempotency.ts";
import type { Clock, Log, OnceStore, QueueDepths, Records } from "../ports.ts";
import { isKept, iso } from "../record.ts";
import type { Tier } from "../tier.ts";
import { type LetterKey, stillThere } from "./act-on-letter.ts";
import { systemTenant } from "./operation-state.ts";
import { pause } from "./pause.ts";
import type { DeadLetterQueues, HeldLetter } from "./ports.ts";

/*
 * SQS deletes by receipt handle only, never by id. So what a replay or discard leaves behind in a DLQ is found by going
 * through the DLQ once: stale messages are deleted, all others held until the end of the pass and then given back.
 * A message is stale when its task is no dead letter any more, or is one of a later failure, which has a message of its own.
 * A crash in the middle costs time only: SQS gives held messages back, and the lock lapses with their hold.
 */

export interface SweepPorts {
  clock: Clock;
  records: Records;
  deadLetterQueues: DeadLetterQueues;
  depths: QueueDepths;
  /** Holds a lock for each tier: what another sweep holds is out of sight for this one. */
  once: OnceStore;
}

/** Who sweeps. */
export interface Sweeper {
  /** Unique to one attempt. */
  owner: string;
  /** How long each reader waits for messages to turn up before it takes the DLQ for empty, in seconds, 1 to 4. Default: 1. */
  waitSeconds?: number;
  /** Epoch milliseconds until which the sweep must be over. */
  endMs: number;
  signal: AbortSignal;
  log: Pick<Log, "info" | "warn">;
}

/** There was no time left for a sweep: the next attempt does it. */
class SweepLater extends TaskError {
  readonly kind = "transient";
}

/** Reads that go on at once. */
const readers = 4;

/** The least that can be relied on, so that a hold is long enough: well below what `readers` manage. */
const lettersPerSecond = 200;

const leastHoldSeconds = 60;

/** SQS lets no more than 120,000 messages be held at once, so a pass never needs longer than this. */
const longestHoldSeconds = leastHoldSeconds + 120_000 / lettersPerSecond;

/** A pass stops so long before its hold ends, to give back in time what it holds. */
const marginMs = 10_000;

/** A short name for a dead letter among others. */
export const letterName = (letter: LetterKey): string =>
  fingerprint([letter.tenant_id, letter.task_id, letter.dead_letter_at]).slice(0, 16);

/** What a sweep came to. */
export interface Swept {
  /** Names of the letters that were deleted by it. */
  deleted: ReadonlySet<string>;
  /** Names of those that sweeps before it deleted of late: nobody needs to wait for them. */
  deletedBefore: readonly string[];
  /** Whether stale ones may be left: somebody who is no sweep held messages when it began, or its time ran out. */
  unseen: boolean;
}

/**
 * Goes through a tier's DLQ and deletes what is stale.
 * @throws SweepLater when the time is too short, or another sweep of the tier does not end; PortUnavailable
 */
export async function sweep(ports: SweepPorts, tier: Tier, sweeper: Sweeper): Promise<Swept> {
  const turn = await lock(ports, tier, sweeper);
  try {
    const earlier = await recentSweeps(ports, tier);
    const { deleted, cutShort } = await pass(ports, tier, sweeper, turn.untilMs);
    if (deleted.size > 0) await noteSweep(ports, tier, earlier, deleted);
    return { deleted, deletedBefore: earlier.flatMap(({ names }) => names), unseen: turn.hidden || cutShort };
  } finally {
    await unlock(ports, tier, sweeper);
  }
}

const lockName = (tier: Tier) => ({ tenantId: systemTenant, key: `sweep of ${tier}` });

/** Waits for its turn, which is as long as the DLQ is deep. */
async function lock(ports: SweepPorts, tier: Tier, { owner, endMs, signal }: Sweeper) {
  for (;;) {
    const { visible, inFlight } = await ports.depths.ofDlq(tier);
    const now = ports.clock.now();
    const untilMs = now + holdSecondsFor(visible + inFlight) * 1000;
    if (untilMs > endMs) throw new SweepLater(`no time is left to sweep the DLQ of ${tier}`);
    const times = { nowIso: iso(now), untilIso: iso(untilMs), purgeAt: Math.ceil(untilMs / 1000) + 3600 };
    const begun = await ports.once.begin({ ...lockName(tier), owner, ...times });
    if (begun.state === "mine") return { untilMs, hidden: inFlight > 0 };
    await pause(ports.clock, 1_000, signal);
  }
}

const holdSecondsFor = (letters: number): number =>
  Math.min(longestHoldSeconds, leastHoldSeconds + Math.ceil(letters / lettersPerSecond));

/** A lock that cannot be given up now lapses. */
const unlock = (ports: SweepPorts, tier: Tier, { owner, log }: Sweeper): Promise<void> =>
  ports.once.release({ ...lockName(tier), owner }).catch((error: unknown) => {
    log.warn("the lock of a sweep could not be given up", { tier, error: String(error) });
  });

/** What one sweep deleted, kept for the others' sake while they may wait for it. */
interface Note {
  at: string;
  names: string[];
}

const noteSeconds = 300;

/** So many names fit into one item of the table, with room to spare. */
const mostNames = 10_000;

/** Under this key the tier's sweeps leave notes; only who holds the lock writes them. */
const noteKey = (tier: Tier) => ({ tenant_id: systemTenant, task_id: `sweep of ${tier}` });

async function recentSweeps(ports: SweepPorts, tier: Tier): Promise<Note[]> {
  const notes = ((await ports.records.loadPart(noteKey(tier), "swept")) ?? []) as Note[];
  const since = iso(ports.clock.now() - noteSeconds * 1000);
  return notes.filter(({ at }) => at >= since);
}

async function noteSweep(ports: SweepPorts, tier: Tier, earlier: readonly Note[], deleted: ReadonlySet<string>) {
  const now = ports.clock.now();
  let room = mostNames;
  const newestFirst = [{ at: iso(now), names: [...deleted] }, ...earlier.toReversed()];
  const notes = newestFirst.filter(({ names }) => {
    room -= names.length;
    return room >= 0;
  });
  await ports.records.savePart(noteKey(tier), "swept", notes.toReversed(), Math.ceil(now / 1000) + 3600);
}

/** What a pass found. Of what it holds it keeps the handles only. */
interface Found {
  deleted: Set<string>;
  held: HeldLetter[];
  /** Whether the time ran out before nothing came any more. */
  cutShort: boolean;
}

async function pass(ports: SweepPorts, tier: Tier, sweeper: Sweeper, untilMs: number): Promise<Found> {
  const found: Found = { deleted: new Set(), held: [], cutShort: false };
  const read = () => readAll(ports, tier, sweeper, { untilMs, found });
  const ends = await Promise.allSettled(Array.from({ length: readers }, read));
  await giveBack(ports, tier, sweeper, found.held);
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  sweeper.log.info("DLQ swept", { tier, deleted: found.deleted.size, kept: found.held.length });
  return found;
}

interface Reading {
  untilMs: number;
  found: Found;
}

/** Reads until nothing comes any more, or the time is over. Every message is held to the same moment, so that none comes twice. */
async function readAll(ports: SweepPorts, tier: Tier, sweeper: Sweeper, { untilMs, found }: Reading): Promise<void> {
  for (let now = ports.clock.now(); now < untilMs - marginMs; now = ports.clock.now()) {
    sweeper.signal.throwIfAborted();
    const holdSeconds = Math.ceil((untilMs - now) / 1000);
    const letters = await ports.deadLetterQueues.receive(tier, holdSeconds, sweeper.waitSeconds);
    if (letters.length === 0) return;
    const names = await Promise.all(letters.map((letter) => staleName(ports, letter.body)));
    const stale = letters.filter((_, index) => names[index] !== undefined);
    const standing = letters.filter((_, index) => names[index] === undefined);
    found.held.push(...standing.map(({ receiptHandle }) => ({ receiptHandle, body: "" })));
    if (stale.length > 0) await ports.deadLetterQueues.delete(tier, stale);
    for (const name of names) if (name !== undefined) found.deleted.add(name);
  }
  found.cutShort = true;
}

/** The name of a stale letter; undefined for one to keep, also when nobody can read it. */
async function staleName(ports: SweepPorts, body: string): Promise<string | undefined> {
  const letter = parseDeadLetter(body);
  if (letter === undefined || typeof letter.original_message === "string") return undefined;
  const { tenant_id, task_id } = letter.original_message;
  const key = { tenant_id, task_id, dead_letter_at: letter.last_failed_at };
  const record = await ports.records.get(key);
  const stands = record?.dead_letter_at === key.dead_letter_at && isKept(record, ports.clock.now());
  if (stands || (await stillThere(ports, key)) !== undefined) return undefined;
  return letterName(key);
}

/** Makes messages visible again; those that it fails for come back when their hold ends. */
async function giveBack(ports: SweepPorts, tier: Tier, { log }: Sweeper, held: readonly HeldLetter[]): Promise<void> {
  const share = Math.ceil(held.length / readers);
  const shares = Array.from({ length: readers }, (_, index) => held.slice(index * share, (index + 1) * share));
  const ends = await Promise.allSettled(shares.map((letters) => ports.deadLetterQueues.release(tier, letters)));
  const failed = ends.find((end) => end.status === "rejected");
  if (failed !== undefined) {
    log.warn("messages of a DLQ come back late", { tier, error: String(failed.reason) });
  }
}
