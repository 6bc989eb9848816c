import { inLanes } from "../model/in-lanes.ts";
import { parseInput } from "../model/invalid.ts";
import { Problem, problemCodes } from "../model/problem.ts";
import { submit } from "./submit.ts";
import { batchSchema, entrySchema } from "./submit-body.ts";
import type { SubmitCall } from "./submit-call.ts";
import type { Accepted, SubmitPorts } from "./submit-ports.ts";

/** Submits of a batch that are worked on at the same time: about the connections that a client of DynamoDB opens. */
const lanes = 50;

/** An entry of a batch: an accepted task, or why it was refused. */
export type BatchEntry = { accepted: Accepted } | { refused: Problem };

/**
 * Submits many tasks, each as `submit` does. No entry's refusal changes another entry. An entry that was cut off by a
 * failure is refused as `unavailable`; the same batch sent again with the same idempotency keys creates only what is
 * missing.
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
  const entries = await inLanes(tasks.entries(), lanes, async ([index, entry]): Promise<BatchEntry> => {
    try {
      if (entry instanceof Problem) throw entry;
      return { accepted: await submit(ports, { ...call, ...entryOf(entry, call.idempotencyKey, index) }) };
    } catch (error) {
      return { refused: error instanceof Problem ? error : onBug(error) };
    }
  });
  if (entries.every(isPassingRefusal)) ports.metrics.add("batch_refused", 1, { tier: "normal", type: "" });
  return entries;
}

/** True for an entry that the same batch, sent later, may have accepted. */
const isPassingRefusal = (entry: BatchEntry): boolean =>
  "refused" in entry && problemCodes[entry.refused.code].status >= 500;

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
