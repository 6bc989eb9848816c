import type { KnownType } from "./catalog.ts";
import { type DispatchPorts, dispatch, longestDelaySeconds } from "./dispatch.ts";
import { type Envelope, largestEnvelopeBytes, schemaVersion } from "./envelope.ts";
import { PortUnavailable } from "./errors.ts";
import { fingerprint, taskIdOf } from "./idempotency.ts";
import type { Identity } from "./identity.ts";
import { parseInput } from "./invalid.ts";
import type { Admission, Gate } from "./limits/gate.ts";
import type { NewId } from "./ports.ts";
import { Problem } from "./problem.ts";
import { isKept, iso, longestQueueLifeSeconds, type TaskRecord } from "./record.ts";
import { tellSubmitted } from "./report.ts";
import { type SubmitBody, submitSchema } from "./submit-body.ts";

/** One call of submit. */
export interface SubmitCall {
  identity: Identity;
  /** The request's body as parsed JSON, not yet checked. */
  body: unknown;
  idempotencyKey?: string | undefined;
  correlationId: string;
  traceparent?: string | undefined;
  /** Size of the request's body. Default: 0, as for a submit that is no client's request. */
  bytes?: number;
  /** Set for a schedule's submit; without a time when somebody ran it by hand. */
  schedule?: { scheduleId: string; scheduledFor?: string };
  /** Set for a handler's submit. */
  parentId?: string;
  /** The version of an input that was written down earlier, such as a schedule's. Default: the type's present one. */
  inputVersion?: number | undefined;
}

export interface SubmitPorts extends DispatchPorts {
  newId: NewId;
  types: ReadonlyMap<string, KnownType>;
  /** Bounds what clients submit. Absent where nobody is refused: handlers and schedules submit as their task or rule says. */
  gate?: Gate;
}

/** An accepted task; `replayed` when an earlier request with the same key had already been. */
export interface Accepted {
  record: TaskRecord;
  replayed: boolean;
}

/**
 * Accepts a task: check, write the record, send the envelope. When it returns, the record exists and the message is in SQS
 * or its schedule in EventBridge Scheduler. A crash between the two leaves no promise broken: the client had no answer, and
 * its repeat with the same key sends again.
 * @throws Problem `invalid_input`, `unknown_task_type`, `too_large`, `idempotency_key_reused`, `unavailable`, and the gate's
 */
export async function submit(ports: SubmitPorts, call: SubmitCall): Promise<Accepted> {
  const body = parseInput(submitSchema, call.body);
  let checked: Checked;
  try {
    checked = checkInput(ports.types, call, body);
  } catch (refusal) {
    return replayOr(ports, call, body, refusal);
  }
  const record = newRecord(ports, call, body, checked);
  const envelope = newEnvelope(ports, record, body.input);
  const admission = await orUnavailable(admit(ports, call, record));
  const fresh = admission.counted ? { ...record, counted: true as const } : record;
  const existing = await orUnavailable(ports.records.create(fresh, iso(ports.clock.now()))).catch((error: unknown) => {
    admission.giveBack();
    throw error;
  });
  if (existing === undefined) return sendFirst(ports, call, fresh, envelope, admission);
  admission.giveBack();
  // The same request means what it meant then, whatever version its type has now.
  if (existing.request_hash === record.request_hash) {
    return replay(ports, existing, newEnvelope(ports, existing, body.input));
  }
  if (isChildInNewShape(existing, record)) return replay(ports, existing, envelope);
  throw new Problem("idempotency_key_reused", "This Idempotency-Key was used with a different request.");
}

/** A repeat of an earlier request: its task, whose message is sent again if it may not have been. */
async function replay(ports: SubmitPorts, existing: TaskRecord, envelope: Envelope): Promise<Accepted> {
  if (existing.status === "pending" && existing.attempts_total === 0) await send(ports, existing, envelope);
  return { record: existing, replayed: true };
}

/** An attempt after a deployment submits the child of an earlier one in its new shape: the earlier submit stands. */
const isChildInNewShape = (existing: TaskRecord, record: TaskRecord): boolean =>
  record.parent_id !== undefined && existing.type === record.type && existing.input_version !== record.input_version;

/**
 * Answers a request that does not fit its type: with its task, where it repeats one that was accepted before the type changed.
 * @throws the refusal
 */
async function replayOr(ports: SubmitPorts, call: SubmitCall, body: SubmitBody, refusal: unknown): Promise<Accepted> {
  if (call.idempotencyKey === undefined) throw refusal;
  const key = { tenant_id: call.identity.tenantId, task_id: taskIdFor(ports, call) };
  const existing = await orUnavailable(ports.records.get(key));
  const repeats = existing?.request_hash === fingerprint(call.body);
  if (existing === undefined || !repeats || !isKept(existing, ports.clock.now())) throw refusal;
  return replay(ports, existing, newEnvelope(ports, existing, body.input));
}

/** What lets everybody in, and counts nothing. */
const open: Admission = { counted: false, giveBack: () => {} };

/** Asks the gate. A repeat of an earlier request is let in, whatever the gate says: the same key gives the same answer. */
async function admit(ports: SubmitPorts, call: SubmitCall, record: TaskRecord): Promise<Admission> {
  if (ports.gate === undefined) return open;
  const soon = Date.parse(record.due_at) - ports.clock.now() <= longestDelaySeconds * 1000;
  const entrant = { tenantId: record.tenant_id, tier: record.priority, bytes: call.bytes ?? 0, soon };
  try {
    return await ports.gate.admit(entrant);
  } catch (refusal) {
    const existing = call.idempotencyKey === undefined ? undefined : await ports.records.get(record);
    if (existing !== undefined && isKept(existing, ports.clock.now())) return open;
    throw refusal;
  }
}

/** What is to be submitted: its type, and the version of its input. */
interface Checked {
  type: KnownType;
  version: number;
}

/**
 * What was written down when the type had an earlier version was checked then, and is left to the worker, which knows the
 * steps from there.
 * @throws Problem `unknown_task_type`, `invalid_input`
 */
function checkInput(types: SubmitPorts["types"], { inputVersion }: SubmitCall, body: SubmitBody): Checked {
  const known = types.get(body.type);
  if (known !== undefined && inputVersion !== undefined && inputVersion < known.version) {
    return { type: known, version: inputVersion };
  }
  const type = checkTask(types, body);
  return { type, version: type.version };
}

/**
 * The type of what is to be submitted, whose schema its input fits.
 * @param within Where it stands in the request's body. Default: it is the body.
 * @throws Problem `unknown_task_type`, `invalid_input`
 */
export function checkTask(
  types: ReadonlyMap<string, KnownType>,
  task: { type: string; input?: unknown },
  within: readonly string[] = [],
): KnownType {
  const type = types.get(task.type);
  if (type === undefined) {
    const path = [...within, "type"];
    throw new Problem("unknown_task_type", `${path.join(".")}: no task type is named ${JSON.stringify(task.type)}.`, {
      errors: [{ path: `/${path.join("/")}`, message: "no such task type" }],
    });
  }
  parseInput(type.input, task.input, [...within, "input"]);
  return type;
}

function newRecord(ports: SubmitPorts, call: SubmitCall, body: SubmitBody, { type, version }: Checked): TaskRecord {
  const { identity } = call;
  const now = ports.clock.now();
  const requestedAt = body.run_at ?? (body.delay_seconds === undefined ? undefined : now + body.delay_seconds * 1000);
  const dueAt = Math.max(now, requestedAt ?? now);
  const retentionSeconds = body.retention_seconds ?? 604_800;
  const expiresAt = body.expires_in_seconds === undefined ? undefined : iso(now + body.expires_in_seconds * 1000);
  return present({
    tenant_id: identity.tenantId,
    task_id: taskIdFor(ports, call),
    type: type.name,
    priority: body.priority ?? type.priority,
    status: "pending",
    requested_by: identity.principal,
    own_list: identity.role === "submitter" ? true : undefined,
    correlation_id: call.correlationId,
    traceparent: call.traceparent,
    tags: Object.keys(body.tags ?? {}).length === 0 ? undefined : body.tags,
    input_version: version === 1 ? undefined : version,
    request_hash: fingerprint(call.body),
    created_at: iso(now),
    updated_at: iso(now),
    round: 1,
    attempts: 0,
    attempts_total: 0,
    max_attempts: body.max_attempts ?? type.max_attempts,
    due_at: iso(dueAt),
    run_at: requestedAt === undefined ? undefined : iso(requestedAt),
    expires_at: expiresAt,
    start_by: expiresAt,
    retention_seconds: retentionSeconds,
    history: [],
    purge_at: Math.ceil(dueAt / 1000) + longestQueueLifeSeconds + retentionSeconds,
    schedule_id: call.schedule?.scheduleId,
    scheduled_for: call.schedule?.scheduledFor,
    parent_id: call.parentId,
  });
}

/** A repeat with the same key must find the same record, so the key makes the id. */
const taskIdFor = (ports: SubmitPorts, { identity, idempotencyKey }: SubmitCall): string =>
  idempotencyKey === undefined ? ports.newId() : taskIdOf(identity.tenantId, identity.principal, idempotencyKey);

/** An optional field that is undefined is left out: absence has a meaning of its own. */
function present(record: { [Name in keyof TaskRecord]: TaskRecord[Name] | undefined }): TaskRecord {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as unknown as TaskRecord;
}

function newEnvelope(ports: SubmitPorts, record: TaskRecord, input: unknown): Envelope {
  const envelope: Envelope = {
    schema_version: schemaVersion,
    message_id: ports.newId(),
    task_id: record.task_id,
    type: record.type,
    tenant_id: record.tenant_id,
    requested_by: record.requested_by,
    correlation_id: record.correlation_id,
    ...(record.traceparent === undefined ? {} : { traceparent: record.traceparent }),
    enqueued_at: iso(ports.clock.now()),
    max_attempts: record.max_attempts,
    ...(record.input_version === undefined ? {} : { input_version: record.input_version }),
    input: input ?? null,
  };
  const bytes = Buffer.byteLength(JSON.stringify(envelope));
  if (bytes > largestEnvelopeBytes) {
    throw new Problem("too_large", `The task's message would be ${bytes} bytes; at most ${largestEnvelopeBytes} fit.`);
  }
  return envelope;
}

async function sendFirst(
  ports: SubmitPorts,
  call: SubmitCall,
  record: TaskRecord,
  envelope: Envelope,
  admission: Admission,
): Promise<Accepted> {
  try {
    await send(ports, record, envelope);
  } catch (error) {
    if (call.idempotencyKey === undefined) {
      await withdraw(ports, record);
      admission.giveBack();
    }
    throw error;
  }
  tellSubmitted(ports, record, envelope.message_id);
  return { record, replayed: false };
}

const send = (ports: SubmitPorts, record: TaskRecord, envelope: Envelope): Promise<void> =>
  orUnavailable(
    dispatch(ports, {
      envelope,
      tier: record.priority,
      dueAt: Date.parse(record.due_at),
      attemptsTotal: record.attempts_total,
      purgeAt: record.purge_at,
    }),
  );

/**
 * Makes a record that nobody was told of disappear. Only where no idempotency key gave its id away: a repeat with the key
 * may have sent the message already.
 */
async function withdraw(ports: SubmitPorts, record: TaskRecord): Promise<void> {
  const change = {
    when: { status: { is: "pending" }, attempts_total: { is: 0 } },
    set: { purge_at: Math.floor(ports.clock.now() / 1000) },
  } as const;
  await ports.records.change(record, change).catch((error: unknown) => {
    if (!(error instanceof PortUnavailable)) throw error;
  });
}

async function orUnavailable<T>(step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (error) {
    if (!(error instanceof PortUnavailable)) throw error;
    throw new Problem("unavailable", "The task could not be accepted now; nothing was lost, try again.", {
      retryAfterSeconds: 5,
      cause: error,
    });
  }
}
