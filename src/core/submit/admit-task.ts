import type { FilesToTake } from "../files/take-files.ts";
import type { Admission } from "../limits/gate.ts";
import { Problem } from "../model/problem.ts";
import type { TaskRecord } from "../model/record.ts";
import { longestDelaySeconds } from "../send/dispatch.ts";
import { withKeptInput } from "../send/kept-input.ts";
import { storedEnvelope } from "../send/large-input.ts";
import { newRecord } from "./new-task.ts";
import { type NewTask, orUnavailable } from "./send-task.ts";
import type { SubmitBody } from "./submit-body.ts";
import type { SubmitCall } from "./submit-call.ts";
import type { SubmitPorts } from "./submit-ports.ts";
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
  const admission = await orUnavailable(enter(ports, call, record));
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
  const { filesToTake, sharedFiles } = await import("../files/take-files.ts");
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

function enter(ports: SubmitPorts, call: SubmitCall, record: TaskRecord): Promise<Admission> {
  if (ports.gate === undefined) return Promise.resolve(unlimited);
  const soon = Date.parse(record.due_at) - ports.clock.now() <= longestDelaySeconds * 1000;
  return ports.gate.admit({ tenantId: record.tenant_id, tier: record.priority, bytes: call.bytes ?? 0, soon });
}
