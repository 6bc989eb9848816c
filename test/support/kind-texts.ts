import * as z from "zod";
import { type Classified, type CrashNote, crashFailure } from "../../src/core/model/classify.ts";
import {
  AttemptTimedOut,
  BusinessRuleViolation,
  ChildrenFailed,
  type ErrorKind,
  InvalidInput,
  PermanentError,
  RetryAfter,
  Unavailable,
} from "../../src/core/model/errors.ts";

/* What the page of each error kind says. Each kind has an entry, or this file does not compile. */

/** Words of a kind's page. Links are those of a page in `docs/error-kinds`. */
export interface KindTexts {
  /** The table of all kinds has it: a reader looks there first. */
  first: string;
  /** The waits of the retries, or the end of them. */
  follows: string;
  /** The causes, each with an example that is thrown, or the failure that Offload makes of it. */
  causes: readonly (readonly [cause: string, thrown: Classified | Error | Response])[];
  cure: readonly string[];
  /** The handler's own code that makes the kind. Absent: no code can. */
  code?: string;
}

const http = (status: number, statusText: string): Response => new Response(null, { status, statusText });

/** An error of a library or of a system call. */
const coded = (message: string, code: string): Error => Object.assign(new Error(message), { code });
const named = (name: string, message: string): Error => Object.assign(new Error(message), { name });
const fetchFailed = (message: string, code: string): Error =>
  new TypeError("fetch failed", { cause: coded(message, code) });

const crash = (note: Pick<CrashNote, "cause"> & Partial<CrashNote>): Classified =>
  crashFailure(1, { by: "this", attempts: 1, ...note } as CrashNote);

const { error: zodError = new Error() } = z.object({ total: z.number() }).safeParse({ total: "12" });

const dead = "The task fails at once, and is a [dead letter](../replay.md).";
const waits = "It is tried again with the type's waits: after 30 seconds, 2, 8 and 30 minutes by default.";

export const kindTexts: Readonly<Record<ErrorKind, KindTexts>> = {
  transient: {
    first: "the message and the stack",
    follows: `${waits} A bug of your own code gets one more attempt only.`,
    causes: [
      ["a broken connection", fetchFailed("read ECONNRESET", "ECONNRESET")],
      ["HTTP 5xx other than 503", http(502, "Bad Gateway")],
      ["HTTP 401 and 403", http(403, "Forbidden")],
      ["a bug", new TypeError("Cannot read properties of undefined (reading 'id')")],
      ["any error that no rule knows", new Error("the answer has no total")],
    ],
    cure: [
      "Read the stack: its first line of yours is where it happened.",
      "With a 401 or 403, look at [credentials](../errors.md#credentials-that-a-service-refuses).",
      'A group with `hint: "bug"` is a `TypeError` or `ReferenceError` of yours: fix it, deploy, and [replay](../replay.md).',
    ],
    code: 'throw new Error("the answer has no total");',
  },
  rate_limited: {
    first: "the other service's quota",
    follows: "It is tried again no earlier than the service's `Retry-After`, else with the type's waits.",
    causes: [
      ["HTTP 429", http(429, "Too Many Requests")],
      ["throttling of AWS", named("ThrottlingException", "Rate exceeded")],
      ["a thrown `RetryAfter`", new RetryAfter(30, "the quota is used up")],
    ],
    cure: [
      "Nothing, if it is rare.",
      "Else a [rate limit](../rate-limits.md) keeps the calls below the quota, and spares the attempts.",
    ],
    code: 'throw new RetryAfter(30, "the quota is used up");',
  },
  conflict: {
    first: "what else writes the same thing",
    follows: "It is tried again after 1, 2 and 4 seconds, at most 3 times.",
    causes: [
      ["HTTP 409 or 412", http(409, "Conflict")],
      ["a failed condition of DynamoDB", named("ConditionalCheckFailedException", "The conditional request failed")],
    ],
    cure: [
      "If it stays, two tasks write the same thing: [run them one after another](../rate-limits.md#run-tasks-in-order-one-at-a-time), with `concurrency: { limit: 1 }` and a key.",
    ],
    code: "if (response.status === 409) throw response;",
  },
  unavailable: {
    first: "the other service",
    follows: "It is tried again after a minute or more.",
    causes: [
      ["HTTP 503", http(503, "Service Unavailable")],
      ["a refused connection", fetchFailed("connect ECONNREFUSED 10.0.0.7:443", "ECONNREFUSED")],
      ["a thrown `Unavailable`", new Unavailable("the bank closes at night")],
      ["a part of AWS that did not answer a call of the context", new Unavailable("the table did not answer")],
    ],
    cure: [
      "Wait for the service. A [breaker](../pauses.md#stop-a-type-when-a-service-is-down) spares the attempts of the tasks that wait.",
    ],
    code: 'throw new Unavailable("the bank closes at night");',
  },
  not_found: {
    first: "the id in the input",
    follows: dead,
    causes: [["HTTP 404 or 410 of a service that the handler called", http(404, "Not Found")]],
    cure: [
      "Look at the id in the input.",
      "If the thing may appear later, retry this kind: `retry: { kinds: { not_found: { baseSeconds: 60, maxRetries: 5 } } }`.",
    ],
    code: "if (response.status === 404) throw response;",
  },
  validation: {
    first: "the input",
    follows: dead,
    causes: [
      ["the input does not fit the type's schema", new InvalidInput("input.url: expected a URL")],
      ["an error of zod in the handler", zodError],
      ["HTTP 400 or 422 of a service", http(422, "Unprocessable Content")],
    ],
    cure: [
      "[Edit the input and retry](../replay.md#edit-the-input-and-retry).",
      "After a change of the schema: [inputs that cannot be converted](../change-a-task.md#inputs-that-cannot-be-converted).",
    ],
    code: 'throw new InvalidInput("the order has no lines");',
  },
  business_rule: {
    first: "a person decides",
    follows: `${dead} It has \`needs_review\`.`,
    causes: [["a thrown `BusinessRuleViolation`", new BusinessRuleViolation("the order is over its credit limit")]],
    cure: ["A person decides. Then retry the task, with another input if need be, or discard it."],
    code: 'throw new BusinessRuleViolation("the order is over its credit limit");',
  },
  permanent: {
    first: "the handler's own decision",
    follows: dead,
    causes: [
      ["a thrown `PermanentError`", new PermanentError("the account was closed")],
      ["a result that is too large, or does not fit `output`", new PermanentError("the result has 7,000,000 bytes")],
      [
        "a call that breaks a [limit](../limits.md)",
        new PermanentError("once: the key must have 1 to 256 characters; got 300"),
      ],
    ],
    cure: ["The message says which. Fix the code or the input, and [replay](../replay.md)."],
    code: 'throw new PermanentError("the account was closed");',
  },
  crashed: {
    first: "memory, loops, `process.exit`",
    follows: `${waits} It runs alone in its worker then, so it harms no other task.`,
    causes: [
      [
        "the worker had no memory left",
        crash({ cause: "out_of_memory", used_mb: 1790, limit_mb: 1769, limit_of: "process" }),
      ],
      ["the handler blocked the event loop", crash({ cause: "blocked" })],
      ["the handler called `process.exit`", crash({ cause: "exited", exit_code: 1 })],
      ["the worker died, or lost its lease", crashFailure(1, undefined)],
    ],
    cure: [
      "[Find what failed](../find-what-failed.md#outofmemory-the-worker-was-killed) has each of these types with its cure.",
    ],
  },
  timed_out: {
    first: "slow calls, `timeoutSeconds`",
    follows: waits,
    causes: [
      [
        "the attempt took longer than the type's `timeoutSeconds`, a minute by default",
        new AttemptTimedOut("the attempt took longer than 60 s"),
      ],
    ],
    cure: [
      "Pass `task.signal` to slow calls, and see which one hangs: `npx offload tasks logs TASK_ID` has the lines of the attempt.",
      "[Long work](../long-work.md) has the ways to take more time.",
    ],
  },
  children_failed: {
    first: "the children that failed",
    follows: "The parent fails, and is a dead letter.",
    causes: [
      [
        "fewer children completed than the parent's `threshold` asks for",
        new ChildrenFailed("8 of 10 children completed, expected at least 10: 2 failed, 0 cancelled, 0 expired"),
      ],
    ],
    cure: [
      "`npx offload tasks children TASK_ID --status failed` lists them.",
      "A [retry of the parent](../children.md#retry-a-parent-that-failed) starts the failed children again.",
    ],
  },
};
