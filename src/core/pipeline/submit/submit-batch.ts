import { inLanes } from "../../../util/in-lanes.ts";
import { parseInput } from "../../model/invalid.ts";
import { Problem, type ProblemCode, problemCodes } from "../../model/problem.ts";
import { admit } from "./admit-task.ts";
import { submit } from "./submit.ts";
import { batchSchema, entrySchema } from "./submit-body.ts";
import type { Accepted, BatchEntry, SubmitCall, SubmitPorts } from "./submit-ports.ts";
import { checkBody } from "./usual-submit.ts";

/** Submits of a batch that are worked on at the same time: about the connections that a client of DynamoDB opens. */
const lanes = 50;

/**
 * Submits many tasks, each as `submit` does. No entry's refusal changes another entry. An entry that was cut off by a
 * failure is refused as `unavailable`; the same batch sent again with the same idempotency keys creates only what is
 * missing. Of entries that replace each other's input, the last one counts, and all have its task.
 * @param call The request: its idempotency key names the whole batch. An entry that is a Problem is refused with it.
 * @param onBug Called with an entry's error that is not a refusal; returns the problem for the caller.
 * @throws Problem `invalid_input` when the body is not a list of 1 to 500 entries
 */
export async function submitBatch(
  ports: SubmitPorts,
  call: SubmitCall,
  onBug: (error: unknown) => Problem,
): Promise<BatchEntry[]> {
  const { tasks } = parseInput(batchSchema, call.body);
  const callOf = (index: number): SubmitCall => {
    const entry = tasks[index];
    if (entry instanceof Problem) throw entry;
    return { ...call, ...entryOf(entry, call.idempotencyKey, index) };
  };
  const answered = async (index: number, answer: (one: SubmitCall) => Promise<Accepted>): Promise<BatchEntry> => {
    try {
      return { accepted: await answer(callOf(index)) };
    } catch (error) {
      return { refused: error instanceof Problem ? error : onBug(error) };
    }
  };
  const entries: BatchEntry[] = [];
  const submitOne = async (index: number) => {
    entries[index] = await answered(index, (one) => submit(ports, one));
  };
  const { alone, replacing, collecting } = sorted(tasks);
  await inLanes([...alone, ...replacing, ...collecting], lanes, async (one) => {
    if (typeof one === "number") return submitOne(one);
    // Their inputs gather in the order of the batch.
    if (collecting.includes(one)) return inLanes(one, 1, submitOne);
    return submitReplacing(ports, one, { entries, submitOne, answered });
  });
  if (entries.every(isPassingRefusal)) ports.metrics.add("batch_refused", 1, { tier: "normal", type: "" });
  return entries;
}

/** True for an entry that the same batch, sent later, may have accepted. */
const isPassingRefusal = (entry: BatchEntry): boolean =>
  "refused" in entry && problemCodes[entry.refused.code].status >= 500;

/**
 * Sorts the indexes of entries: those by themselves, lists of those that replace each other's input, and of those that
 * gather in one task, in order.
 */
function sorted(tasks: readonly unknown[]): { alone: number[]; replacing: number[][]; collecting: number[][] } {
  const lists = new Map<unknown, number[]>();
  for (const [index, entry] of tasks.entries()) {
    const key = collectingKeyOf(entry) ?? replacingKeyOf(entry) ?? index;
    const list = lists.get(key);
    if (list === undefined) lists.set(key, [index]);
    else list.push(index);
  }
  const all = [...lists.values()];
  const several = all.filter((list) => list.length > 1);
  const isCollecting = ([first = 0]: number[]) => collectingKeyOf(tasks[first]) !== undefined;
  return {
    alone: all.flatMap((list) => (list.length === 1 ? list : [])),
    replacing: several.filter((list) => !isCollecting(list)),
    collecting: several.filter(isCollecting),
  };
}

/** The same for entries of a batch whose inputs gather in one task. Undefined: the entry's does not gather. */
function collectingKeyOf(entry: unknown): string | undefined {
  const { type, unique } = (entry ?? {}) as Record<string, unknown>;
  const { mode, key } = (unique ?? {}) as Record<string, unknown>;
  return mode === "collect" ? JSON.stringify([type, mode, key]) : undefined;
}

/**
 * The same for entries of a batch that replace each other, or each other's input. Undefined: the entry replaces none,
 * or has an idempotency key, files or a result key of its own.
 */
function replacingKeyOf(entry: unknown): string | undefined {
  const { type, unique, idempotency_key: own, ...rest } = (entry ?? {}) as Record<string, unknown>;
  const { mode, key } = (unique ?? {}) as Record<string, unknown>;
  // The files and the result of a task are for one caller.
  const ofOne = own ?? rest.files ?? rest.result_key;
  if (ofOne !== undefined || !["replace", "debounce", "restart"].includes(mode as string)) return undefined;
  return JSON.stringify([type, mode, key]);
}

/** @throws Problem `invalid_input` */
function entryOf(
  entry: unknown,
  batchKey: string | undefined,
  index: number,
): Pick<SubmitCall, "body" | "bytes" | "idempotencyKey"> {
  const { idempotency_key: own, ...body } = parseInput(entrySchema, entry);
  // A tenant's limit of bytes is for one task.
  const bytes = Buffer.byteLength(JSON.stringify(body));
  return { body, bytes, idempotencyKey: own ?? (batchKey === undefined ? undefined : batchEntryKey(batchKey, index)) };
}

/** The key of an entry without one of its own. No client can send it, because their keys have no line breaks. */
const batchEntryKey = (batchKey: string, index: number): string => `batch\n${batchKey}\n${index}`;

/** A batch that is submitted. */
interface Batch {
  /** Answers by index. */
  entries: BatchEntry[];
  submitOne(index: number): Promise<void>;
  answered(index: number, answer: (one: SubmitCall) => Promise<Accepted>): Promise<BatchEntry>;
}

/**
 * Submits entries of a batch that replace each other's input. Only the last one is written, as the inputs before it
 * would be replaced at once: a batch of 500 costs one submit. The others are checked and counted, and have its task.
 * When the last one is refused for its own fault, the one before it takes its place.
 */
async function submitReplacing(ports: SubmitPorts, indexes: readonly number[], batch: Batch): Promise<void> {
  const { entries, submitOne, answered } = batch;
  const left = [...indexes];
  for (let last = left.pop(); last !== undefined; last = left.pop()) {
    await submitOne(last);
    const answer = entries[last];
    if (answer === undefined || ("refused" in answer && isOwnFault(answer))) continue;
    for (const index of left.splice(0)) {
      entries[index] =
        "refused" in answer
          ? answer
          : await answered(index, async (one) => {
              await count(ports, one, answer.accepted);
              return { ...answer.accepted, replayed: true };
            });
    }
  }
}

/**
 * Checks an entry, and counts it toward the limits of its tenant. A repeated batch has its earlier answers, also over a
 * limit.
 * @throws Problem
 */
async function count(ports: SubmitPorts, call: SubmitCall, { replayed }: Accepted): Promise<void> {
  const body = await checkBody(ports, call.body);
  const isRepeat = replayed && call.idempotencyKey !== undefined;
  try {
    const { admission } = await admit(ports, call, body);
    admission.giveBackTask();
  } catch (refusal) {
    if (!(isRepeat && refusal instanceof Problem && limits.has(refusal.code))) throw refusal;
  }
}

/** Refusals of an entry that says nothing wrong. */
const limits: ReadonlySet<ProblemCode> = new Set(["rate_limited", "quota_exceeded", "queue_full"]);

/** Refusals that the entries before it get as well. */
const shared: ReadonlySet<ProblemCode> = new Set(["rate_limited", "quota_exceeded", "idempotency_key_reused"]);

/** True for a refusal that says nothing about the other entries. */
const isOwnFault = ({ refused: { code } }: { refused: Problem }): boolean =>
  problemCodes[code].status < 500 && !shared.has(code);
