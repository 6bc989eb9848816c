import { parseBody } from "../api/http/body.ts";
import { answersWithin, apiMs } from "../aws/call-times.ts";
import type { SentTracing } from "../aws/observed.ts";
import type { AnyTasks, TaskInput, TaskName, TaskResult } from "../client/definitions.ts";
import { ProblemError } from "../client/errors.ts";
import { within } from "../client/limits.ts";
import type { SubmitOptions } from "../client/submit-options.ts";
import type { SubmittedTask } from "../client/task-ref.ts";
import { toWire } from "../client/wire.ts";
import { expecting } from "../core/model/expected.ts";
import { tenantPattern } from "../core/model/keys.ts";
import { Problem, problemCodes } from "../core/model/problem.ts";
import type { Identity } from "../core/model/words.ts";
import { acceptedView, submit } from "../core/pipeline/submit/submit.ts";
import {
  checkIdempotencyKey,
  isCorrelationId,
  type SubmitCall,
  type SubmitPorts,
} from "../core/pipeline/submit/submit-ports.ts";
import { loadSubmitSchema } from "../core/pipeline/submit/usual-submit.ts";
import { isTraceparent } from "../core/ports/tasks.ts";
import type { KnownTypes } from "../core/task/catalog.ts";

/**
 * The options of a submit: those of the HTTP client, and the caller's trace. Nothing is repeated, so no key is made.
 */
export interface DirectSubmitOptions extends SubmitOptions {
  /** A second submit with the same key makes no second task. Default: none. */
  idempotencyKey?: string | undefined;
  /** W3C trace context of the caller. Default: the active OpenTelemetry span, where `OFFLOAD_TRACING` is 1. */
  traceparent?: string | undefined;
}

/** The name under which tasks are submitted. */
export type Submitter = Pick<Identity, "tenantId" | "principal">;

export interface DirectPorts extends Omit<SubmitPorts, "types"> {
  newCorrelationId: () => string;
  /** Returns the deployment's task types. */
  types: () => Promise<KnownTypes>;
  /** Writes what the submits have counted. */
  flush: () => void;
  /** Loaded with the first submit. */
  tracing: () => Promise<Pick<SentTracing, "span">>;
}

/** Submits tasks of one tenant to the table and the queues, without HTTP. */
export class DirectClient<Tasks = AnyTasks> {
  readonly #identity: Identity;
  readonly #ports: DirectPorts;

  /** @throws TypeError when tenant or principal is not valid */
  constructor({ tenantId, principal }: Submitter, ports: DirectPorts) {
    if (!tenantPattern.test(tenantId)) throw new TypeError("tenant: expected 1 to 64 of A-Z, a-z, 0-9, '_' and '-'");
    if (!/^[\x21-\x7e]{1,255}$/.test(principal)) {
      throw new TypeError("principal: expected 1 to 255 printable ASCII characters without spaces");
    }
    // Nobody logs in as this principal, so its tasks need no list of their own, which costs a submitter's tasks a write
    // unit.
    this.#identity = { tenantId, principal, role: "operator" };
    this.#ports = ports;
  }

  /** Returns a client for another tenant, with the same connections. */
  forTenant(tenant: string): DirectClient<Tasks> {
    return new DirectClient({ ...this.#identity, tenantId: tenant }, this.#ports);
  }

  /**
   * Submits a task with the promises of `POST /tasks`: when it returns, the record and the message exist. Takes six
   * seconds at most.
   * @throws ProblemError as the HTTP client; CallTimeout; an error of AWS that no repeat can cure, such as a missing
   * permission
   */
  async submit<Name extends TaskName<Tasks>>(
    type: Name,
    input: TaskInput<Tasks, Name>,
    options: DirectSubmitOptions = {},
  ): Promise<SubmittedTask<TaskResult<Tasks, Name>>> {
    const { signal, timeoutMs, idempotencyKey, correlationId, traceparent, ...rest } = options;
    const text = JSON.stringify({ type, input, ...toWire(rest) });
    const call = {
      identity: this.#identity,
      idempotencyKey,
      correlationGiven: (correlationId !== undefined && isCorrelationId(correlationId)) || undefined,
      correlationId:
        correlationId !== undefined && isCorrelationId(correlationId) ? correlationId : this.#ports.newCorrelationId(),
      traceparent: traceparent !== undefined && isTraceparent(traceparent) ? traceparent : undefined,
    };
    const task = await within({ signal, timeoutMs }, (end) => orAborted(end, () => this.#send(type, text, call)));
    return task as SubmittedTask<TaskResult<Tasks, Name>>;
  }

  /** @param text The body of the request that the HTTP client would send. */
  async #send(type: string, text: string, call: Omit<SubmitCall, "body">): Promise<SubmittedTask> {
    const ports = this.#ports;
    const { traceparent, correlationId } = call;
    const attributes = { "offload.correlation_id": correlationId, "offload.task_type": type.slice(0, 64) };
    try {
      const tracing = await ports.tracing();
      return await tracing.span({ name: "submit", kind: "producer", traceparent, attributes }, (span) =>
        bounded(async () => {
          if (call.idempotencyKey !== undefined) checkIdempotencyKey(call.idempotencyKey);
          const accepted = await expecting(loadSubmitSchema, async () => {
            const { body, bytes } = parseBody(text);
            const all = { ...ports, types: await ports.types() };
            return submit(all, { ...call, body, bytes, traceparent: span.traceparent });
          });
          return acceptedView(accepted, ports.clock);
        }),
      );
    } catch (error) {
      throw error instanceof Problem ? problemError(error, correlationId) : error;
    } finally {
      ports.flush();
    }
  }
}

/** Bounds the calls to AWS as in the function submit. */
const bounded = answersWithin(apiMs, (work: () => Promise<SubmittedTask>) => work());

/** Rejects with the signal's reason when that comes first. The work goes on: its task may be accepted. */
function orAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop);
    work()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", stop));
  });
}

/** The error that the HTTP client throws for the same problem. */
function problemError({ code, detail, options }: Problem, correlationId: string): ProblemError {
  const { errors, retryAfterSeconds, extra, cause } = options;
  const { status } = problemCodes[code];
  const body = {
    ...extra,
    code,
    status,
    detail,
    correlation_id: correlationId,
    ...(errors !== undefined && { errors }),
  };
  const error = new ProblemError(body, retryAfterSeconds, 1);
  return cause === undefined ? error : Object.assign(error, { cause });
}
