import type { FilesToTake } from "../../extras/files/take-files.ts";
import type { Admission } from "../../limits/gate.ts";
import type { Envelope } from "../../model/envelope.ts";
import { PortUnavailable } from "../../model/errors.ts";
import { Problem } from "../../model/problem.ts";
import type { TaskRecord } from "../../model/record.ts";
import type { KnownType } from "../../task/catalog.ts";
import { dispatch, longestDelaySeconds } from "../send/dispatch.ts";
import { keepForWait, withKeptInput } from "../send/kept-input.ts";
import { storedEnvelope } from "../send/large-input.ts";
import { reportSubmitted } from "../send/report.ts";
import { newRecord } from "./new-task.ts";
import type { SubmitBody } from "./submit-body.ts";
import type { Accepted, SubmitCall, SubmitPorts } from "./submit-ports.ts";
import { type Checked, checkInput } from "./usual-submit.ts";

/** A submit that passed every check. Nothing of it is stored yet. */
export interface Admitted {
  /** Version of its input. */
  version: number;
  admission: Admission;
  /**
   * Stores what the record will name: a large input, and the claim on its files. @throws Problem `unavailable`,
   * `too_large`
   * @param list The fields of a task that collects inputs: its message has none.
   */
  store(list?: Pick<TaskRecord, "collects">): Promise<NewTask>;
}

/** Checks and admits a submit. @throws Problem */
export async function admit(ports: SubmitPorts, call: SubmitCall, body: SubmitBody): Promise<Admitted> {
  const checked = await checkInput(ports.types, body, call.inputVersion);
  if (body.callback !== undefined) await checkCallback(ports, body.callback.url);
  const files = await orUnavailable(filesOf(ports, call, checked, body));
  const record = newRecord(ports, call, body, checked);
  const admission = await orUnavailable(admitCall(ports, call, record));
  const store = (list?: Pick<TaskRecord, "collects">) => {
    const task =
      list === undefined ? { record, input: body.input } : { record: { ...record, ...list }, input: undefined };
    return orUnavailable(storeNew(ports, { ...task, checked }, files, admission));
  };
  return { version: checked.version, admission, store };
}

/** Checks, admits and stores a submit. @throws Problem */
export async function admitNew(ports: SubmitPorts, call: SubmitCall, body: SubmitBody): Promise<NewTask> {
  const { admission, store } = await admit(ports, call, body);
  try {
    return await store();
  } catch (error) {
    admission.giveBack();
    throw error;
  }
}

/** @throws Problem `invalid_input` */
async function checkCallback({ callbackFault }: SubmitPorts, url: string): Promise<void> {
  const message = await callbackFault?.(url);
  if (message === undefined) return;
  throw new Problem("invalid_input", `callback.url: ${message}.`, { errors: [{ path: "/callback/url", message }] });
}

/** The code of files loads with the first task that has some. */
async function filesOf(ports: SubmitPorts, call: SubmitCall, { type }: Checked, body: SubmitBody) {
  if (type.files === undefined && body.files === undefined && call.files === undefined) return undefined;
  const { filesToTake, sharedFiles } = await import("../../extras/files/take-files.ts");
  if (call.files !== undefined) return sharedFiles(type, call.files);
  return filesToTake(ports, call.identity, type, { ids: body.files, sent: call.sent });
}

async function storeNew(
  ports: SubmitPorts,
  { record, checked, input }: { record: TaskRecord; checked: Checked; input: unknown },
  toTake: FilesToTake | undefined,
  admission: Admission,
): Promise<NewTask> {
  const envelope = await storedEnvelope(ports, record, input);
  const files = await toTake?.(record);
  const counted = admission.counted ? { counted: true as const } : {};
  const whole = { ...record, ...counted, ...(files && { files }) };
  const { type } = checked;
  return { record: withKeptInput(whole, envelope, type), envelope, admission, type };
}

/** The admission of a submit that no limit applies to. */
const unlimited: Admission = { counted: false, giveBack: () => {}, giveBackTask: () => {} };

function admitCall(ports: SubmitPorts, call: SubmitCall, record: TaskRecord): Promise<Admission> {
  if (ports.gate === undefined) return Promise.resolve(unlimited);
  const soon = Date.parse(record.due_at) - ports.clock.now() <= longestDelaySeconds * 1000;
  return ports.gate.admit({ tenantId: record.tenant_id, tier: record.priority, bytes: call.bytes ?? 0, soon });
}

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
