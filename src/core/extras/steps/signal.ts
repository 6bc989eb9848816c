import * as z from "zod";
import type { CountRequest } from "../../limits/gate.ts";
import type { Changed } from "../../model/change.ts";
import type { Envelope } from "../../model/envelope.ts";
import { PortUnavailable } from "../../model/errors.ts";
import { fingerprint } from "../../model/idempotency.ts";
import { parseInput } from "../../model/invalid.ts";
import { hashSecret } from "../../model/keys.ts";
import { Problem } from "../../model/problem.ts";
import { isKept, iso, statusAt, type TaskRecord } from "../../model/record.ts";
import { isTerminal } from "../../model/words.ts";
import { dispatch, oneOffName } from "../../pipeline/send/dispatch.ts";
import { keepEntries, newEntryPurgeAt } from "../../pipeline/send/keep-entries.ts";
import type { DispatchPorts, SignalLink, SignalLinks, StepEntry, StepStore, StoredEntry } from "../../ports/steps.ts";
import type { CatalogEntry } from "../../task/catalog.ts";
import { checkSignal } from "../../task/handler-submit.ts";
import { valueText } from "../../task/json-value.ts";
import { anyName } from "../../task/to-catalog.ts";
import type { Sent } from "./send-numbered.ts";

export interface SignalPorts extends DispatchPorts {
  steps: StepStore;
  /** The names of the signals that types read one after the other. Absent: only the tasks' entries say it. */
  types?: ReadonlyMap<string, Pick<CatalogEntry, "next_signals">>;
}

/** Number of tries when the task changes at the same time. */
const maxTries = 5;

/**
 * Sends a signal to a task: it answers the task's wait of that name, which may have begun already, or begins later. A
 * repeated call does the same again. Where the handler reads signals of this name one after the other, it is one more.
 * @param idempotencyKey Names the request among those that send one more. Default: each is another one.
 * @returns The record after it, which has ended when the handler got the signal at once.
 * @throws Problem `conflict` when the task has ended, the wait has timed out, or the task has another signal of this
 * name; `quota_exceeded`
 */
export async function signal(
  ports: SignalPorts,
  record: TaskRecord,
  name: string,
  body: unknown,
  idempotencyKey?: string,
): Promise<TaskRecord> {
  const askedMs = ports.clock.now();
  mustBeOpen(record, askedMs);
  const value = valueText(body ?? null, "the signal") ?? "null";
  // Stored first: an attempt that sees that there is a signal finds it.
  const key = idempotencyKey && { key: fingerprint(idempotencyKey) };
  const stored = await storedAs(ports, record, { name, value, at: iso(askedMs), ...key });
  let current: TaskRecord | undefined = record;
  for (let tries = 0; tries < maxTries && current !== undefined; tries++) {
    const changed = await announce(ports, current, name);
    if (changed.done) {
      // The record that the call began with may be old, and an earlier call may have stored the signal.
      await keepEntries(ports, changed.record, [stored], changed.record.purge_at);
      await wake(ports, current, changed.record);
      return changed.record;
    }
    current = changed.record;
    if (current === undefined) break;
    if (await hasAnswered(ports, current, stored, askedMs)) return current;
    mustBeOpen(current, ports.clock.now());
  }
  throw new Problem("unavailable", "The task changed at the same time; try again.", { retryAfterSeconds: 1 });
}

/** Stores a signal: the only one of its name, or one more where the handler reads one after the other. */
async function storedAs(ports: SignalPorts, record: TaskRecord, sent: Sent): Promise<StoredEntry> {
  const { name, value, at, key } = sent;
  const oneMore = async () => (await import("./send-numbered.ts")).sendNumbered(ports, record, sent);
  const names = ports.types?.get(record.type)?.next_signals ?? [];
  if (names.includes(name) || names.includes(anyName)) return oneMore();
  await mustHaveRoom(ports, record, name, value);
  const stored = await ports.steps.add(record, { kind: "signal", ...sent }, newEntryPurgeAt(ports.clock, record));
  const isOwn = stored.value === value && (key === undefined ? stored.at === at : stored.key === key);
  if (isOwn) return stored;
  const { takenSignals } = await import("./send-numbered.ts");
  if (takenSignals(name, await ports.steps.load(record, "wait")) > 0) return oneMore();
  if (stored.timed_out === true) throw new Problem("conflict", `The task's wait for ${name} has timed out.`);
  if (stored.value !== value) throw new Problem("conflict", `The task has another signal ${name} already.`);
  return stored;
}

/** So many signals of 256 KiB have room in any case: a task with few signals is not looked at. */
const alwaysRoom = 3;

/** @throws Problem `quota_exceeded` when the task has too many signals that its handler has not waited for */
async function mustHaveRoom({ steps }: SignalPorts, record: TaskRecord, name: string, value: string): Promise<void> {
  if ((record.signals ?? 0) < alwaysRoom) return;
  const { maxUnread, maxUnreadBytes, unreadOf } = await import("./send-numbered.ts");
  const entries = await steps.load(record);
  const signals = entries.filter(({ kind }) => kind === "signal");
  // A repeat stores nothing.
  if (signals.some((entry) => entry.name === name)) return;
  const waits = entries.filter(({ kind }) => kind === "wait");
  const unread = unreadOf(signals, waits);
  const bytes = unread.reduce((sum, entry) => sum + Buffer.byteLength(entry.value ?? ""), Buffer.byteLength(value));
  if (unread.length < maxUnread && bytes <= maxUnreadBytes) return;
  throw new Problem(
    "quota_exceeded",
    `The task has ${unread.length} signals that it has not waited for; the most are ${maxUnread}, with ${maxUnreadBytes} bytes in all.`,
    { retryAfterSeconds: 60 },
  );
}

/**
 * True when the task has ended since the signal was stored, and waited for it: the attempt that woke by the time-out of
 * the wait found the signal.
 */
async function hasAnswered(
  { steps }: SignalPorts,
  record: TaskRecord,
  { name }: StoredEntry,
  askedMs: number,
): Promise<boolean> {
  if (record.status !== "completed" && record.status !== "failed") return false;
  // The record that the call began with may be old.
  if (Date.parse(record.finished_at ?? "") < askedMs) return false;
  const waits = await steps.load(record, "wait");
  const { takenSignals } = await import("./send-numbered.ts");
  const [of = name, number = "1"] = name.split(" #");
  return waits.some((wait) => namesOfWait(wait).includes(name)) || takenSignals(of, waits) >= Number(number);
}

/** The names of the signals that a wait waits for. The waits of `aggregate` have its name before theirs. */
const namesOfWait = ({ name }: StepEntry): string[] => name.replace(/^aggregate \d+: /, "").split("|");

function mustBeOpen(record: TaskRecord, nowMs: number): void {
  const status = statusAt(record, iso(nowMs));
  if (isTerminal(status)) throw new Problem("conflict", `A task that is ${status} cannot get a signal.`);
}

/**
 * Notes in the record that there is a signal. A task that waits for it is due now. The record may be old, so the write
 * finds out whether a waiting task has expired: it may have started since.
 */
function announce(ports: SignalPorts, record: TaskRecord, name: string): Promise<Changed> {
  const { waiting_for: waitingFor, status, attempts_total, due_at } = record;
  const now = iso(ports.clock.now());
  const wakes = waitingFor?.kind === "signal" && waitingFor.signals.includes(name) && due_at > now;
  return ports.records.change(record, {
    when: {
      ...{ status: { is: status }, attempts_total: { is: attempts_total }, due_at: { is: due_at } },
      ...(status === "pending" && { start_by: { above: now, orAbsent: true } }),
    },
    set: { updated_at: now, ...(wakes && { due_at: now }) },
    add: { signals: 1 },
    ...(wakes && { remove: ["waiting_for"] as const }),
  });
}

/**
 * Sends the message of a task that is due now. A repeated call sends it again, as the first one may have died before.
 */
async function wake(ports: SignalPorts, before: TaskRecord, after: TaskRecord): Promise<void> {
  if (after.status !== "pending" || after.due_at > iso(ports.clock.now()) || after.attempts_total === 0) return;
  const envelope = (await ports.records.loadPart(after, "envelope")) as Envelope | undefined;
  // Without it the task has not waited for a signal, so its message is on its way.
  if (envelope === undefined) return;
  await dispatch(ports, after, envelope);
  if (before.due_at === after.due_at) return;
  const name = oneOffName(before.task_id, before.attempts_total, Date.parse(before.due_at));
  // A one-off that stays fires for a task that does not wait, and fire skips that.
  await ports.oneOffs.delete(name).catch((error: unknown) => {
    if (!(error instanceof PortUnavailable)) throw error;
  });
}

export interface LinkPorts extends SignalPorts {
  links: SignalLinks;
  /** Absent: signals have no rate. */
  countRequest?: CountRequest;
}

/** A body as it came: JSON, or the fields of a form, whose values are texts. */
export type LinkBody = { json: unknown } | { fields: Readonly<Record<string, unknown>> };

/**
 * Sends the signal of a link. Its answers tell nothing of the task.
 * @throws Problem `not_found` for a link that is unknown or has expired; `invalid_input`, `too_large`; `conflict` after
 * another answer, and when the task takes none; `rate_limited`
 */
export async function signalByLink(ports: LinkPorts, secret: string, given: LinkBody): Promise<void> {
  const { link, record } = await linkedTask(ports, secret);
  const body = bodyOf(link, given);
  checkSignal(link.name, body);
  await ports.countRequest?.(record.tenant_id);
  try {
    await signal(ports, record, link.name, body);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "conflict") throw error;
    // A repeat changes nothing, also after the task's end.
    if (await hasSignal(ports, record, link.name, body)) return;
    throw new Problem("conflict", "This link was used with another answer, or the time for an answer is over.");
  }
}

async function linkedTask(
  { links, records, clock }: LinkPorts,
  secret: string,
): Promise<{ link: SignalLink; record: TaskRecord }> {
  const link = await links.find(hashSecret(secret), clock.now());
  const record = link && (await records.get({ tenant_id: link.tenant_id, task_id: link.task_id }, "consistently"));
  if (link !== undefined && record?.created_at === link.created_at && isKept(record, clock.now())) {
    return { link, record };
  }
  throw new Problem("not_found", "This link is not valid, or has expired.");
}

async function hasSignal({ steps }: LinkPorts, record: TaskRecord, name: string, body: unknown): Promise<boolean> {
  const signals = await steps.load(record, "signal");
  const found = signals.find((entry) => entry.name === name);
  return found?.timed_out !== true && found?.value === (valueText(body ?? null, "the signal") ?? "null");
}

interface JsonSchema {
  type?: unknown;
  properties?: Readonly<Record<string, JsonSchema>>;
}

function bodyOf({ schema: text }: SignalLink, given: LinkBody): unknown {
  if (text === undefined) return "fields" in given ? given.fields : given.json;
  const schema = JSON.parse(text) as JsonSchema;
  const body = "fields" in given ? typedFields(schema, given.fields) : given.json;
  parseInput(z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema), body);
  return body;
}

/** Texts of a form become the numbers, true and false that the schema asks for. */
const typedFields = ({ properties = {} }: JsonSchema, fields: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, text]) => [
      name,
      Object.hasOwn(properties, name) ? typed(properties[name]?.type, text) : text,
    ]),
  );

function typed(type: unknown, text: unknown): unknown {
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  const isNumber = (type === "number" || type === "integer") && typeof text === "string" && text.trim() !== "";
  return isNumber && Number.isFinite(Number(text)) ? Number(text) : text;
}
