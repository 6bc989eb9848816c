import { isThrottled } from "../../model/errors.ts";
import { fieldProblem } from "../../model/field-problem.ts";
import { Problem } from "../../model/problem.ts";
import { isKept, iso, type TaskRecord } from "../../model/record.ts";
import {
  closeList,
  fullPageBytes,
  isFilled,
  isFinal,
  isList,
  type ListRecord,
  largestCollectedBytes,
  listPurgeAt,
  nextPlace,
} from "../../pipeline/send/collected-list.ts";
import { dispatch } from "../../pipeline/send/dispatch.ts";
import { newEnvelope } from "../../pipeline/send/large-input.ts";
import { reportSubmitted } from "../../pipeline/send/report.ts";
import { isUnstarted, movedStart } from "../../pipeline/send/waiting-task.ts";
import { type Admitted, admit, type NewTask, orUnavailable, withdraw } from "../../pipeline/submit/admit-task.ts";
import type { Accepted, SubmitPorts } from "../../pipeline/submit/submit-ports.ts";
import type { Holder, ListPage, ListPlace, Lists, UniqueKey } from "../../ports/unique.ts";
import type { KnownType } from "../../task/catalog.ts";
import { keyPurgeAt } from "./index.ts";
import { create, holderOf, withTime } from "./make-holder.ts";
import {
  ensureSent,
  isSame,
  joinedKey,
  mustBeSame,
  noteJoined,
  sendAndNote,
  type UniqueSubmit,
} from "./unique-call.ts";

/*
 * Submits whose inputs gather in one task. The key names the task with the open list. A submit adds its input to the
 * newest page of that list by one conditional write, which gives it its number; a list that is over, or whose task has
 * started, makes it begin the next one. The first attempt closes the list before it reads it: an input that is not in
 * it by then finds the page closed.
 */

/** Tries to add an input while other submits fill the pages. */
const maxTries = 30;

/** A submit whose input is to be in a list. */
interface Collecting extends UniqueSubmit {
  admitted: Admitted;
  /** JSON of the input. */
  text: string;
  /** The submit's id in the list: a repeat with the idempotency key has the same. */
  id: string;
  /** The task that it has stored the parts of, for a list of its own. */
  task?: NewTask;
  /** The lane of the key in which it looks for a list. */
  lane: UniqueKey;
}

/** A list that takes inputs, as one look found it. */
interface Open {
  list: ListRecord;
  place: ListPlace;
  /** The item of the list's lane, if it names this list. */
  holder: Holder | undefined;
  /** True: this submit has made it, and sends its message. */
  isOwn: boolean;
}

/** Accepts a submit of a type that collects. @throws Problem */
export async function submitCollected(one: UniqueSubmit, type: KnownType | undefined): Promise<Accepted> {
  const { ports, call, body } = one;
  const text = checkCollecting(one, type);
  const waiting = { ...body, delay_seconds: type?.collect?.wait_seconds };
  // Its list has an id of its own: the list outlives the submit.
  const { idempotencyKey: _, ...listCall } = call;
  let admitted: Admitted;
  try {
    admitted = await admit(ports, listCall, waiting);
  } catch (refusal) {
    const known = await orUnavailable(earlierAnswer(one));
    if (known === undefined) throw refusal;
    return known;
  }
  const { admission } = admitted;
  const id = one.own?.task_id ?? ports.newId();
  const collecting: Collecting = { ...one, admitted, text, id, lane: one.key };
  try {
    const { isNew, ...accepted } = await orUnavailable(addOrSpread(collecting));
    if (!isNew) admission.giveBackTask();
    return accepted;
  } catch (error) {
    if (collecting.leavesTask !== true) admission.giveBack();
    throw error;
  }
}

/** Adds the input. The next submits of this process spread, when the table has refused a call of this one. */
async function addOrSpread(one: Collecting): Promise<Added> {
  try {
    return await addInput(one);
  } catch (error) {
    if (isThrottled(error)) spread(one, lanesMore.throttle);
    throw error;
  }
}

/** Returns the input's JSON. @throws Problem `invalid_input`, `too_large` */
function checkCollecting({ body, unique }: UniqueSubmit, type: KnownType | undefined): string {
  if (type !== undefined && type.collect === undefined) {
    throw fieldProblem("unique/mode", "collect needs a type with the option collect");
  }
  if (unique.mode !== "collect") throw fieldProblem("unique/mode", "expected collect, as the type collects its inputs");
  if (body.input === undefined) throw fieldProblem("input", "expected an input with unique.mode collect");
  const text = JSON.stringify(body.input);
  const bytes = Buffer.byteLength(text);
  if (bytes <= largestCollectedBytes) return text;
  const limit = `the limit with unique.mode collect is ${largestCollectedBytes} (256 KiB)`;
  throw new Problem("too_large", `The input has ${bytes} bytes; ${limit}.`);
}

/** The answer that an earlier call with the idempotency key got. */
async function earlierAnswer(one: UniqueSubmit): Promise<Accepted | undefined> {
  const noted = await notedList(one, await noteOf(one));
  const known = noted && (await answerIn(one, noted));
  return known === "again" ? undefined : known;
}

/** The list that an earlier call with the idempotency key was about to add its input to. */
interface Noted {
  list: ListRecord;
  note: Holder;
  page: ListPage | undefined;
}

/** The note of an earlier call with the idempotency key. */
async function noteOf({ ports, own }: UniqueSubmit): Promise<Holder | undefined> {
  return own && (await ports.uniqueKeys.holder(joinedKey(own)));
}

/** Undefined: there is no note, or the noted task is gone. */
async function notedList(one: UniqueSubmit, note: Holder | undefined): Promise<Noted | undefined> {
  const { ports, key, call } = one;
  if (note === undefined) return undefined;
  const record = await ports.records.get({ tenant_id: key.tenant_id, task_id: note.task_id }, "consistently");
  if (record === undefined || !isSame(record, note) || !isKept(record, ports.clock.now())) return undefined;
  mustBeSame(call, record, note.request_hash);
  if (!isList(record)) return undefined;
  return { list: record, note, page: await ports.lists.page(record, note.replaced ?? 1) };
}

/**
 * The answer of a submit whose input is in the list. The list's message is sent for certain. `again`: its task changed
 * meanwhile.
 */
async function answerIn(one: UniqueSubmit, { list, page }: Noted): Promise<Accepted | "again" | undefined> {
  const { ports, own } = one;
  const key = laneOf(list);
  const at = own === undefined ? -1 : (page?.ids.indexOf(own.task_id) ?? -1);
  if (page === undefined || at < 0) return undefined;
  const holder = await ports.uniqueKeys.holder(key);
  const isHolder = holder !== undefined && isSame(holder, list);
  if (isHolder && holder.unsent !== undefined && !(await ensureSent(ports, key, holder, list))) return "again";
  return { record: list, replayed: true, collected: page.first + at };
}

/**
 * A key that many submit at once has several open lists: its lanes. A submit that others were faster than some times
 * goes to a lane by its id, and the process begins there for a while. So it does when the table has refused a call
 * because the key's items have too many: pages that fill slowly let nobody collide.
 */
const patientTries = 3;
const maxLanes = 64;
const lanesMore = { collision: 2, throttle: 4 };
const hotMs = 60_000;
const maxHotKeys = 1_000;

/** The lanes that a process of submit knows of hot keys, until when. */
const hotKeys = new WeakMap<Lists, Map<string, { lanes: number; untilMs: number }>>();

const hotName = ({ tenant_id, type, unique_key }: UniqueKey): string => `${tenant_id}#${type}#${unique_key}`;

/** The lanes that this process uses for the key. */
function lanesOf({ ports, key }: Collecting): number {
  const known = hotKeys.get(ports.lists)?.get(hotName(key));
  return known !== undefined && known.untilMs > ports.clock.now() ? known.lanes : 1;
}

function spread(one: Collecting, times: number): void {
  const { ports, key } = one;
  const lanes = Math.min(maxLanes, lanesOf(one) * times);
  const hot = hotKeys.get(ports.lists) ?? new Map();
  if (hot.size >= maxHotKeys) hot.clear();
  hotKeys.set(ports.lists, hot.set(hotName(key), { lanes, untilMs: ports.clock.now() + hotMs }));
}

function chooseLane(one: Collecting, tries: number): UniqueKey {
  const { key, id } = one;
  const isLate = tries >= patientTries && tries % 2 === 1;
  if (isLate && lanesOf(one) < maxLanes) spread(one, lanesMore.collision);
  const lanes = lanesOf(one);
  const lane = Number.parseInt(id.slice(-4), 16) % lanes;
  return lane === 0 ? key : { ...key, unique_key: `${key.unique_key}/${lane}` };
}

/** The key of a list's lane. */
const laneOf = ({ tenant_id, type, unique_key = "" }: ListRecord): UniqueKey => ({ tenant_id, type, unique_key });

type Added = Accepted & { isNew: boolean };

async function addInput(one: Collecting): Promise<Added> {
  for (let tries = 0; tries < maxTries; tries++) {
    one.lane = chooseLane(one, tries);
    const note = await noteOf(one);
    const noted = await notedList(one, note);
    const known = noted && (await answerIn(one, noted));
    if (known === "again") continue;
    if (known !== undefined) return { ...known, isNew: false };
    const open = (await openNoted(one, noted)) ?? (await openList(one)) ?? (await makeList(one, tries));
    if (open === undefined || !(await moveNote(one, { note, noted }, open))) continue;
    const added = await addTo(one, open);
    if (added !== undefined) return added;
  }
  throw new Problem("unavailable", "Other submits with this key came at the same time; try again.", {
    retryAfterSeconds: 1,
  });
}

/** The noted list, if it takes the input. */
async function openNoted(one: Collecting, noted: Noted | undefined): Promise<Open | undefined> {
  if (noted === undefined || !takesInputs(one, noted.list)) return undefined;
  const holder = await one.ports.uniqueKeys.holder(laneOf(noted.list));
  return openIn(one, noted.list, holder !== undefined && isSame(holder, noted.list) ? holder : undefined);
}

/** The list of the task that has the key, or the lane of it. */
async function openList(one: Collecting): Promise<Open | undefined> {
  const { ports, lane: key } = one;
  const holder = await ports.uniqueKeys.holder(key);
  if (holder === undefined) return undefined;
  const record = await ports.records.get({ tenant_id: key.tenant_id, task_id: holder.task_id }, "consistently");
  if (record === undefined || !isSame(record, holder) || !takesInputs(one, record)) return undefined;
  return openIn(one, record, holder);
}

async function openIn(one: Collecting, list: ListRecord, holder: Holder | undefined): Promise<Open | undefined> {
  const place = nextPlace(await one.ports.lists.last(list), list);
  return place && { list, place, holder, isOwn: false };
}

/**
 * True for a list whose task waits for its first attempt. A task that can expire takes inputs only until it is due:
 * each input has the whole time for which its submit asked.
 */
function takesInputs({ ports, admitted }: Collecting, record: TaskRecord): record is ListRecord {
  const now = ports.clock.now();
  const canExpire = record.start_by !== undefined && record.due_at <= iso(now);
  const { input_version: version = 1 } = record;
  return isList(record) && isUnstarted(record) && isKept(record, now) && !canExpire && version === admitted.version;
}

/** Begins the next list of the key. Undefined: another submit was faster. */
async function makeList(one: Collecting, tries: number): Promise<Open | undefined> {
  const { ports, lane: key, body } = one;
  const seen = await ports.uniqueKeys.holder(key);
  if (seen !== undefined && !(await leave(one, seen))) return undefined;
  const { max_items: collects = 1 } = ports.types.get(body.type)?.collect ?? {};
  one.task ??= await one.admitted.store({ collects });
  const task = withTime(one.task, tries);
  const record = await create(ports, { ...task, record: { ...task.record, unique_key: key.unique_key } });
  if (record === undefined || !isList(record)) return undefined;
  const { envelope } = one.task;
  const holder = holderOf(record, envelope);
  if (!(await ports.uniqueKeys.take(key, holder, seen, keyPurgeAt(record.purge_at)))) {
    await withdraw(ports, record);
    return undefined;
  }
  one.leavesTask = true;
  return { list: record, place: { number: 1, first: 1, bytesBefore: 0 }, holder, isOwn: true };
}

/**
 * Sees to it that the list before is sent, and due once it is full: the submit that did either may have died. Returns
 * false when the key changed meanwhile.
 */
async function leave(one: Collecting, seen: Holder): Promise<boolean> {
  const { ports, lane: key } = one;
  const record = await ports.records.get({ tenant_id: key.tenant_id, task_id: seen.task_id }, "consistently");
  if (record === undefined || !isSame(record, seen) || !isKept(record, ports.clock.now())) return true;
  if (!isUnstarted(record)) return true;
  if (seen.unsent !== undefined && !(await ensureSent(ports, key, seen, record))) return false;
  if (!isList(record)) return true;
  const last = await ports.lists.last(record);
  // It was over at the look before, or is by now: else it takes this input.
  if (last === undefined || !isFilled(last, record)) return !takesInputs(one, record);
  await startNow(ports, record);
  return true;
}

/**
 * Notes the page that a call with an idempotency key adds its input to, before it does: a repeat looks there. A call
 * leaves the noted page only when nobody can add the input there any more. Returns false when another call with the key
 * was faster.
 */
async function moveNote(
  one: Collecting,
  { note, noted }: { note: Holder | undefined; noted: Noted | undefined },
  { list, place }: Open,
): Promise<boolean> {
  const { ports, own } = one;
  if (own === undefined) return true;
  const { number } = place;
  if (noted !== undefined) {
    const { page } = noted;
    if (isSame(noted.note, list) && noted.note.replaced === number) return true;
    if (page === undefined || !isFinal(page, noted.list)) {
      await closeList(ports, noted.list);
      const final = await ports.lists.page(noted.list, noted.note.replaced ?? 1);
      // The next look finds the input there, or a page that is final.
      if (final?.ids.includes(one.id)) return false;
    }
  }
  // The note as it was before the look: another call may have moved it since.
  return noteJoined(one, { joined: note }, list, { replaced: number });
}

/** Adds the input, and sends what has to be sent. Undefined: the page takes no more, or the list is withdrawn. */
async function addTo(one: Collecting, { list, place, holder, isOwn }: Open): Promise<Added | undefined> {
  const { ports, id, text } = one;
  const room = { bytes: fullPageBytes, inputs: list.collects - place.first + 1 };
  const page = await ports.lists.add(list, place, [{ id, text }], room, listPurgeAt(list));
  const at = page.ids.indexOf(id);
  if (at < 0) return undefined;
  const isSent = isOwn ? await sendOwn(one, list, holder) : await sentByOther(one, list, holder);
  if (!isSent) return undefined;
  const record = isFilled(page, list) ? await startNow(ports, list) : list;
  return { record, replayed: false, collected: page.first + at, isNew: isOwn };
}

async function sendOwn(one: Collecting, list: ListRecord, holder: Holder | undefined): Promise<true> {
  const { ports, lane: key } = one;
  const envelope = holder?.unsent ?? newEnvelope(ports, list, undefined);
  try {
    await sendAndNote(ports, key, list, envelope);
  } catch (error) {
    // Others may have added their inputs: then one of them sends it. With an idempotency key a repeat does.
    one.leavesTask = one.own !== undefined || !(await withdraw(ports, list));
    throw error;
  }
  reportSubmitted(ports, list);
  return true;
}

/** The submit that made the list sends it, and may have died: then this one does. False: the list is withdrawn. */
async function sentByOther({ ports }: Collecting, list: ListRecord, seen: Holder | undefined): Promise<boolean> {
  if (seen?.unsent === undefined) return true;
  const key = laneOf(list);
  const holder = await ports.uniqueKeys.holder(key);
  // Who takes the key sends the list before it.
  if (holder === undefined || !isSame(holder, list) || holder.unsent === undefined) return true;
  const record = await ports.records.get(list, "consistently");
  if (record === undefined || !isSame(record, list)) return false;
  return ensureSent(ports, key, holder, record);
}

/** A list that is full does not wait any longer. Without this it would start when its wait is over. */
async function startNow(ports: SubmitPorts, list: ListRecord): Promise<TaskRecord> {
  const now = ports.clock.now();
  if (Date.parse(list.due_at) <= now) return list;
  const changed = await ports.records.change(list, {
    when: {
      ...{ status: { is: "pending" }, attempts_total: { is: 0 }, round: { is: 1 } },
      ...{ created_at: { is: list.created_at }, due_at: { is: list.due_at } },
    },
    set: { ...movedStart(list, now), updated_at: iso(now) },
  });
  const current = changed.record ?? list;
  // Also when this write was made at its first try, whose answer was lost.
  if (isUnstarted(current) && current.due_at <= iso(now)) {
    await dispatch(ports, current, newEnvelope(ports, current, undefined));
  }
  return current;
}
