import type { ProblemCode } from "../../src/core/model/problem.ts";

/* What the page of each problem says. Each code has an entry, or this file does not compile. */

/** Words of a problem's page. Links are those of a page in `docs/problems`. */
export interface ProblemTexts {
  /** One clause, without a stop. */
  meaning: string;
  /** Texts of `detail` as a program gets them, each with its cause. The first one is the body's example. */
  causes: readonly (readonly [detail: string, cause: string])[];
  cure: readonly string[];
  /** Further members of the body. */
  members?: Readonly<Record<string, unknown>>;
  /** Headers of the answer. */
  headers?: readonly string[];
}

const repeat =
  "Wait for the seconds of `Retry-After`, and repeat the same request. The [typed client](../client.md) does it.";

export const problemTexts: Readonly<Record<ProblemCode, ProblemTexts>> = {
  malformed_request: {
    meaning:
      "the body is not a JSON object in UTF-8, it is nested deeper than 64 levels, or a header or cursor is not valid",
    causes: [
      ["The body is not valid JSON.", "A quote or a comma is missing, or the body was cut."],
      ["The body must be a JSON object.", "The body is a list, a text or a number."],
      ["The body is nested deeper than 64 levels.", "A structure contains itself, or a tree is too deep."],
      [
        "Idempotency-Key must be 1 to 255 printable ASCII characters.",
        "The key is empty, too long, or has other letters. A hash of it fits.",
      ],
      [
        "The cursor is not valid, or belongs to another list, filter or caller.",
        "`next_cursor` was used with other parameters than those of its list.",
      ],
      ["The Content-Type names no boundary.", "The form's header was set by hand. Let `fetch` set it."],
    ],
    cure: [
      "Send `JSON.stringify(body)`, and look at the bytes that left: `curl -v` shows them.",
      "Start a list again without `cursor`.",
    ],
  },
  unauthenticated: {
    meaning: "the token is missing, unknown, expired or revoked",
    causes: [
      [
        "A valid bearer token is required: an API key, or a token of the configured issuer.",
        "No `Authorization: Bearer`, a key of another deployment, a revoked key, or a JWT that has expired.",
      ],
    ],
    cure: [
      "On this machine the key is `dev-acme`. On AWS `npx offload keys create` makes one, and shows it once.",
      "With a JWT, compare its `iss` and `aud` with the deployment's: [sign-in](../sign-in.md).",
    ],
    headers: ["WWW-Authenticate: Bearer"],
  },
  forbidden: {
    meaning: "the token's role is too low",
    causes: [
      [
        "This request requires the role operator. The token has the role submitter.",
        "A submitter's key called a route of operators.",
      ],
      ["This request changes something, which the role viewer may not.", "A viewer reads only."],
      ["Only an admin may name another tenant.", "The request has `?tenant=` of somebody else."],
      [
        "The token's role is viewer, and neither its key nor a claim has `inputs: true`.",
        "Inputs and logs are for operators, and for viewers that may see them.",
      ],
    ],
    cure: [
      "Use a key with the role that the page of the route names: [tenants and keys](../tenants.md).",
      "Do not give a program of users an operator's key: it may read all tasks of its tenant.",
    ],
  },
  not_found: {
    meaning: "there is no such route, or no such object for this caller",
    causes: [
      [
        "No such task.",
        "The id is wrong, the task is another tenant's or another submitter's, or its retention is over.",
      ],
      ["No such route.", "The path has a typing error, or the deployment is older than the client."],
      ["No such schedule.", "It was deleted, or it is another tenant's."],
    ],
    cure: [
      "Compare the key's tenant with the task's: another caller's task is answered as one that never existed.",
      "`GET /openapi.json` lists the routes of this deployment.",
    ],
  },
  input_not_kept: {
    meaning: "Offload has not kept the task's input",
    causes: [
      [
        "The task's input cannot be read: it is in the task's message while it runs or waits in a queue, and deleted after its end.",
        "The type does not keep inputs.",
      ],
      [
        "Inputs of a sensitive type are shown to operators only, and only small ones of dead letters.",
        "The type is `sensitive`.",
      ],
    ],
    cure: [
      "Set [`keepInput`](../task-options.md) in the type, deploy, and submit again: it keeps the inputs of later tasks.",
    ],
  },
  method_not_allowed: {
    meaning: "the path exists, without this method",
    causes: [
      ["This route does not support the method PUT.", "The method is another one. `Allow` lists those of the path."],
    ],
    cure: ["Read `Allow`, or the page of the [HTTP API](../api.md)."],
    headers: ["Allow: GET, POST"],
  },
  request_timeout: {
    meaning: "the request did not arrive in time",
    causes: [
      [
        "The request did not arrive within 30 s.",
        "The client opened a connection, and did not send the whole body. Only the local server answers so; API Gateway closes the connection.",
      ],
    ],
    cure: ["Repeat it. A large file is [uploaded to S3](../files.md), past the API."],
  },
  conflict: {
    meaning:
      "the object's status does not allow it. With `Retry-After`: other requests changed it at the same time, and this one changed nothing",
    causes: [
      [
        "A task that is completed cannot be cancelled.",
        "The task has ended before. The same text names each other act.",
      ],
      ["The task has no result: it is failed.", "A task that failed has an `error`: the body has it, too."],
      ["Tasks of type invoice.order cannot be cancelled.", "The type has `cancellable: false`."],
      ["A task with this unique key has not ended.", "`task_id` of the body is that task."],
      ["This schedule is paused for all tenants since 2026-01-31T09:00:00.000Z.", "An admin paused it."],
    ],
    cure: [
      "Read the object: its status says what happened. A cancel of a task that has ended needs no repeat.",
      "With `Retry-After`, repeat the request after that time.",
    ],
  },
  defined_in_code: {
    meaning: "the app's code defines the schedule, and no request changes its rule",
    causes: [
      [
        "This schedule is defined in the app's code: change it there, and deploy. Here it can be paused, resumed and run.",
        "The schedule is in `tasks/schedules.ts`.",
      ],
      [
        'The app\'s code has a schedule named "report.nightly": choose another name, or change it there, and deploy.',
        "A `POST` or `PUT` with a name that a schedule in `tasks/schedules.ts` has. `schedule_id` is its id.",
      ],
    ],
    cure: ["Change it [in the code](../schedules-in-code.md), and deploy. Pause, resume and run work here."],
  },
  not_waiting: {
    meaning: "the task does not wait for its time",
    causes: [
      [
        "Only a wait for a retry or for a start time can be ended: this task is processing.",
        "The task runs, or has ended.",
      ],
      [
        "Only a wait for a retry or for a start time can be ended: this task is due already, and waits for a worker.",
        "Its queue is long, or its workers have no room.",
      ],
      [
        "Only a wait for a retry or for a start time can be ended: this task is held back by a pause.",
        "A pause, a breaker or a limit holds it: end that.",
      ],
      [
        "Only a task that has not started can be moved; an operator can move a retry, too.",
        "A submitter moved a task that has been tried.",
      ],
    ],
    cure: [
      "Read the task: `status` and `waiting_for` say why it waits. [Pauses](../pauses.md) and [rate limits](../rate-limits.md) end by their own rule.",
    ],
  },
  gone: {
    meaning: "the result was acknowledged, or the result is no longer kept",
    causes: [
      ["The result was deleted: it was acknowledged.", "A client has called `POST /tasks/{task_id}/acknowledge`."],
      ["The task's input is no longer kept.", "A retry needs the input, and its retention is over."],
    ],
    cure: ["Submit a new task. [Results](../results.md) says how long each is kept."],
  },
  too_large: {
    meaning: "the request, its form or its input is larger than allowed",
    causes: [
      ["The request is larger than 1048576 bytes (1 MiB).", "The body has a file or a long list in it."],
      [
        "The request has 300000 bytes. This tenant's limit is 262144 bytes.",
        "The tenant has a lower limit of its own.",
      ],
      ["A signal has at most 262144 bytes.", "A signal is a short answer: store large values, and send their address."],
    ],
    cure: [
      "[Upload a file](../files.md), and submit its reference.",
      "A long list is [many tasks](../many-tasks.md). [Limits](../limits.md) has all bounds.",
    ],
  },
  unsupported_media_type: {
    meaning: "the body is not JSON",
    causes: [
      ["The body must be JSON: send Content-Type: application/json.", "`curl -d` sends a form unless told otherwise."],
      ["The body must not be compressed: send it without Content-Encoding.", "A proxy or a library packs bodies."],
    ],
    cure: ["Send `Content-Type: application/json`."],
  },
  invalid_input: {
    meaning: "a field, or the task's input, does not fit; `errors` names each one",
    causes: [
      ["input.width: expected a positive integer, got -3", "The input does not fit the type's schema."],
      ["expires_at: expected a future time", "A field of the request is outside of its range."],
    ],
    cure: [
      "Each entry of `errors` has a `path`, a JSON pointer into the request, and a `message` with what was expected.",
      "The schema of each type is in `GET /openapi.json`, and the [typed client](../client.md) checks before it sends.",
    ],
    members: { errors: [{ path: "/input/width", message: "expected a positive integer" }] },
  },
  unknown_task_type: {
    meaning: "the deployment has no type of this name",
    causes: [
      [
        'type: no task type is named "link.chek". Did you mean "link.check"? GET /types lists the task types.',
        "A typing error, or the type is not deployed yet.",
      ],
    ],
    cure: ["`npx offload types` lists the types of a deployment. Deploy the type before the program that submits it."],
    members: { errors: [{ path: "/type", message: "no such task type" }] },
  },
  idempotency_key_reused: {
    meaning: "another request had the same `Idempotency-Key`",
    causes: [
      [
        "This Idempotency-Key was used with a different request.",
        "The same key came with another type, input or option: a key stands for one piece of work.",
      ],
    ],
    cure: [
      "Read the task of the first request: `task_id` of the body.",
      "Make the key of what is done once, such as an order's number: [do it once](../do-it-once.md).",
    ],
    members: { task_id: "43278505-3039-5076-a782-b3af4ed926c5" },
  },
  rate_limited: {
    meaning: "too many submits of the tenant, or polls of one task",
    causes: [
      ["This tenant may submit at most 50 tasks per second.", "The tenant's rate of submits is used up."],
      ["You may poll this task at most 10 times per second.", "A loop without a wait asks for a task's status."],
      ["At most 300 channels can be opened in a minute.", "Each page of a browser opens a channel of its own."],
    ],
    cure: [
      repeat,
      "Wait with `?wait=20` or a [webhook](../webhooks.md), instead of polling. Many tasks are [one batch](../many-tasks.md).",
      "An admin changes [the tenant's limits](../tenant-limits.md).",
    ],
    headers: ["Retry-After: 1"],
  },
  quota_exceeded: {
    meaning: "the tenant has too many tasks that have not ended",
    causes: [
      ["This tenant already has 10000 tasks in progress, its limit.", "Tasks come faster than they end."],
      [
        "This tenant already has 100 schedules, its limit.",
        "A schedule was made for each user. One schedule can submit many tasks.",
      ],
      ["This tenant already has 20 receivers, which is the maximum.", "Old receivers were not deleted."],
    ],
    cure: [repeat, "See what waits: `npx offload top`. An admin changes [the tenant's limits](../tenant-limits.md)."],
    headers: ["Retry-After: 2"],
  },
  internal: {
    meaning: "a fault of the service, which is logged with `correlation_id`",
    causes: [
      [
        "An internal error occurred. The log has its cause under this correlation id.",
        "A bug of Offload, or an AWS error that it does not know.",
      ],
    ],
    cure: [
      "Repeat it once, with the same `Idempotency-Key`.",
      "Then look for the id in the API's log: [API errors](../runbook.md#api-errors).",
    ],
  },
  queue_full: {
    meaning: "the tier has too many waiting tasks",
    causes: [
      [
        "The tier normal is full. The task was not accepted.",
        "More tasks wait than the deployment allows for the tier.",
      ],
    ],
    cure: [repeat, "Use another `priority`, or see [why the tier is behind](../runbook.md#depth)."],
    headers: ["Retry-After: 30"],
  },
  unavailable: {
    meaning: "a part of AWS does not answer",
    causes: [
      [
        "The task could not be accepted now. Nothing was lost; try again.",
        "The table or the queue did not answer. The submit changed nothing that a repeat would double.",
      ],
      ["The token cannot be checked now; try again.", "The table of keys or the issuer did not answer."],
      ["The task changed at the same time; try again.", "Several requests came at once, and this one changed nothing."],
    ],
    cure: [
      repeat,
      "Send a submit with the same `Idempotency-Key`: it makes one task, however often it is sent. [Guarantees](../guarantees.md) says what holds during an outage.",
    ],
    headers: ["Retry-After: 5"],
  },
};
