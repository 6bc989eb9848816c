import { PortUnavailable } from "../../model/errors.ts";
import { fieldProblem } from "../../model/field-problem.ts";
import { fingerprint } from "../../model/idempotency.ts";
import type { Problem } from "../../model/problem.ts";
import { isKept, iso, statusAt, type TaskRecord } from "../../model/record.ts";
import type { Clock } from "../../ports/tasks.ts";
import { storedEnvelope } from "../send/large-input.ts";
import { admitNew, keyReused, type NewTask, newTaskId, orUnavailable, send, sendFirst } from "./admit-task.ts";
import type { SubmitBody } from "./submit-body.ts";
import type { Accepted, SubmitCall, SubmitPorts } from "./submit-ports.ts";
import { checkBody } from "./usual-submit.ts";

/** An accepted task, as submitters see it. */
export const acceptedView = ({ record, collected }: Pick<Accepted, "record" | "collected">, clock: Clock) => ({
  task_id: record.task_id,
  status: statusAt(record, iso(clock.now())),
  poll_url: `/tasks/${record.task_id}`,
  created_at: record.created_at,
  ...(collected !== undefined && { collected }),
});

/**
 * Accepts a task: check, write the record, send the envelope. When it returns, the record exists, and the message is in
 * SQS or its one-off schedule is in EventBridge Scheduler. A crash between the two breaks no promise: the client got no
 * answer, and its repeat with the same key sends again.
 * @throws Problem `conflict` for a unique task, `invalid_input`, `unknown_task_type`, `too_large`,
 * `idempotency_key_reused`, `unavailable`, and those of the gate
 */
export async function submit(ports: SubmitPorts, call: SubmitCall): Promise<Accepted> {
  const body = await checkBody(ports, call.body);
  if (body.unique !== undefined) {
    if (call.family !== undefined) throw childProblem();
    if (ports.submitUnique === undefined) throw new Error("unique: these submits are none of clients or handlers");
    return ports.submitUnique(ports, call, body, body.unique);
  }
  let task: NewTask;
  try {
    task = await admitNew(ports, call, body);
  } catch (refusal) {
    const earlier = await earlierTask(ports, call);
    if (earlier === undefined) throw refusal;
    return answerRepeat(ports, call, body, earlier);
  }
  const { record, admission } = task;
  const noting = ports.noteTenant?.(record.tenant_id);
  const existing = await orUnavailable(ports.records.create(record, iso(ports.clock.now()))).catch((error: unknown) => {
    admission.giveBack();
    throw error;
  });
  // Awaited, because Lambda freezes the process after the answer. Both writes run at the same time.
  await noting;
  if (existing === undefined) return sendFirst(ports, call, task);
  admission.giveBack();
  return answerRepeat(ports, call, body, existing, record);
}

const childProblem = (): Problem =>
  fieldProblem("unique", "a child of a family cannot be unique, as its parent counts it");

/** The task that an earlier request with the same key made. The same key gets the same answer, also over a limit. */
async function earlierTask(ports: SubmitPorts, call: SubmitCall): Promise<TaskRecord | undefined> {
  if (call.idempotencyKey === undefined) return undefined;
  const key = { tenant_id: call.identity.tenantId, task_id: newTaskId(ports, call) };
  const record = await orUnavailable(ports.records.get(key));
  return record !== undefined && isKept(record, ports.clock.now()) ? record : undefined;
}

/**
 * Answers a call whose key already has a task. The message is sent again if the earlier call may not have sent it.
 * @param fresh The record that this call would have written. Undefined: the call was refused before.
 * @throws Problem `idempotency_key_reused` when the earlier request was a different one
 */
async function answerRepeat(
  ports: SubmitPorts,
  call: SubmitCall,
  body: SubmitBody,
  existing: TaskRecord,
  fresh?: TaskRecord,
): Promise<Accepted> {
  const sameRequest = existing.request_hash === fingerprint(call.body);
  const newShape = fresh !== undefined && isChildInNewShape(existing, fresh);
  if (!sameRequest && !newShape) {
    throw keyReused(existing.task_id);
  }
  if (existing.status === "pending" && existing.attempts_total === 0 && !wasSentLately(ports, existing)) {
    // The same request keeps the meaning that it had then, whatever version its type has now.
    const envelope = storedEnvelope(ports, sameRequest ? existing : (fresh ?? existing), body.input);
    await send(ports, existing, await orUnavailable(envelope));
    await noteSent(ports, existing);
  }
  return { record: existing, replayed: true };
}

/**
 * Clients that repeat their requests into a backlog must not make it grow: a task gets one more message in this time,
 * in milliseconds.
 */
const sendAgainMs = 60_000;

const wasSentLately = ({ clock }: SubmitPorts, { sent_again_at: at }: TaskRecord): boolean =>
  at !== undefined && clock.now() - Date.parse(at) < sendAgainMs;

/**
 * Notes that a repeat has sent the task's message, once that is certain. Without the note the next repeat sends it
 * again.
 */
async function noteSent({ records, clock }: SubmitPorts, record: TaskRecord): Promise<void> {
  const change = {
    when: { status: { is: "pending" }, attempts_total: { is: 0 }, created_at: { is: record.created_at } },
    set: { sent_again_at: iso(clock.now()) },
  } as const;
  await records.change(record, change).catch((error: unknown) => {
    if (!(error instanceof PortUnavailable)) throw error;
  });
}

/**
 * After a deployment, an attempt submits the child of an earlier attempt in its new shape: the earlier submit counts. A
 * family also counts the child that it has under a key, whatever a later attempt spawns under that key.
 */
const isChildInNewShape = (existing: TaskRecord, fresh: TaskRecord): boolean =>
  fresh.parent_id !== undefined &&
  existing.type === fresh.type &&
  (existing.input_version !== fresh.input_version || fresh.family_leaf !== undefined);
