import { Problem, type ProblemCode, problemCodes } from "../../model/problem.ts";
import { admit } from "./admit-task.ts";
import type { Accepted, BatchEntry, SubmitCall, SubmitPorts } from "./submit-ports.ts";
import { checkBody } from "./usual-submit.ts";

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
export async function submitReplacing(ports: SubmitPorts, indexes: readonly number[], batch: Batch): Promise<void> {
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
