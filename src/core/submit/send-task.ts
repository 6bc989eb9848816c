import type { Admission } from "../limits/gate.ts";
import type { Envelope } from "../model/envelope.ts";
import { PortUnavailable } from "../model/errors.ts";
import { Problem } from "../model/problem.ts";
import type { TaskRecord } from "../model/record.ts";
import { dispatch } from "../send/dispatch.ts";
import { keepForWait } from "../send/kept-input.ts";
import { reportSubmitted } from "../send/report.ts";
import type { KnownType } from "../task/catalog.ts";
import type { SubmitCall } from "./submit-call.ts";
import type { Accepted, SubmitPorts } from "./submit-ports.ts";

/** A task that was admitted and has not been written yet, with all that its record names. */
export interface NewTask {
  record: TaskRecord;
  envelope: Envelope;
  admission: Admission;
  type: KnownType;
}

/** Sends the message of a new task. If that fails, a task whose id no client knows is withdrawn. */
export async function sendFirst(
  ports: SubmitPorts,
  call: SubmitCall,
  { record, envelope, admission, type }: NewTask,
): Promise<Accepted> {
  try {
    // After the record: a refused repeat must not replace what an earlier call has stored.
    await orUnavailable(keepForWait(ports, record, envelope, type));
    await send(ports, record, envelope);
  } catch (error) {
    if (call.idempotencyKey === undefined) {
      await withdraw(ports, record);
      admission.giveBack();
    }
    throw error;
  }
  reportSubmitted(ports, record, envelope.message_id);
  return { record, replayed: false };
}

/** Sends the message of a task. @throws Problem `unavailable` */
export const send = (ports: SubmitPorts, record: TaskRecord, envelope: Envelope): Promise<void> =>
  orUnavailable(dispatch(ports, record, envelope));

/**
 * A withdrawn record was to be kept until this many seconds ago, so that it is gone for submits whose clocks are
 * behind, too.
 */
const withdrawnSeconds = 3600;

/**
 * Removes a record whose id no client knows. Returns true when it is removed for certain. Not for a call with an
 * idempotency key: a repeat with the key may have sent the message already. The record of a unique task names the call
 * that may withdraw it, until another call is about to send its message.
 */
export async function withdraw(ports: Pick<SubmitPorts, "clock" | "records">, record: TaskRecord): Promise<boolean> {
  const { sender } = record;
  const change = {
    when: {
      status: { is: "pending" },
      attempts_total: { is: 0 },
      ...(sender !== undefined && { sender: { is: sender } }),
    },
    set: { purge_at: Math.floor(ports.clock.now() / 1000) - withdrawnSeconds },
  } as const;
  try {
    return (await ports.records.change(record, change)).done;
  } catch (error) {
    if (!(error instanceof PortUnavailable)) throw error;
    return false;
  }
}

/** The key is the caller's own, and so is its task. */
export const keyReused = (task_id: string): Problem =>
  new Problem("idempotency_key_reused", "This Idempotency-Key was used with a different request.", {
    extra: { task_id },
  });

/**
 * Runs a step whose failure a client can repeat.
 * @throws Problem `unavailable` in place of `PortUnavailable`
 */
export async function orUnavailable<T>(step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (error) {
    if (!(error instanceof PortUnavailable)) throw error;
    throw new Problem("unavailable", "The task could not be accepted now. Nothing was lost; try again.", {
      retryAfterSeconds: 5,
      cause: error,
    });
  }
}
