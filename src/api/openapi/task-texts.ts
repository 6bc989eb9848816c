import * as z from "zod";
import { uploadSchema } from "../../core/extras/files/uploads.ts";
import { channelSchema } from "../../core/notify/open-channel.ts";
import { batchSchema, idempotencyKeySchema, maxEntries, submitFields } from "../../core/pipeline/submit/submit-body.ts";
import { logListSchema } from "../http/logs.ts";
import { taskListSchema } from "../http/query.ts";
import { childListSchema } from "../http/task-list.ts";
import { acceptedTask, described, notModified, page, submitProblems } from "./describe.ts";
import { withName } from "./json-schema.ts";

const batchBody = withName(
  "Batch",
  batchSchema.extend({
    tasks: z
      .array(withName("BatchEntry", z.strictObject({ ...submitFields, idempotency_key: idempotencyKeySchema })))
      .min(1)
      .max(maxEntries),
  }),
);

/** Headers that some answers with a task have. */
const ofWait = ["Retry-After", "Preference-Applied"] as const;

const signalProblems = ["invalid_input", "conflict", "quota_exceeded", "rate_limited"] as const;

/** The page of a link. */
const linkPage = (description: string) => ({ description, body: "page", headers: ["Cache-Control"] }) as const;

/** The routes of tasks. */
export const taskTexts = described("tasks", {
  submitTask: {
    summary: "Submit a task",
    description:
      "A repeat with the same `Idempotency-Key` and body returns the first task. With `unique`, a submit can join a task that has " +
      "not ended; the answer then has `Idempotent-Replayed`. A submit as `multipart/form-data` has files: " +
      "the part `task` is the JSON, and each other part is a file under the name that the type gives it, with at most 4 MiB in all. " +
      "`POST /uploads` takes larger files.",
    parameters: ["Idempotency-Key"],
    body: "submit",
    form: {
      type: "object",
      properties: { task: { type: "string", contentMediaType: "application/json" } },
      additionalProperties: { type: "string", format: "binary" },
      required: ["task"],
    },
    answers: { 202: acceptedTask },
    problems: [...submitProblems, "conflict"],
  },
  submitBatch: {
    summary: "Submit up to 500 tasks",
    description:
      "Each entry is accepted or refused on its own. `Idempotency-Key` names the whole batch. An entry without a key of its own gets one that is " +
      "made from it, so a repeated batch creates nothing twice. Each entry counts toward the tenant's limits.",
    parameters: ["Idempotency-Key"],
    body: batchBody,
    example: { tasks: [{ type: "mail.send", input: { to: "ada@example.com" }, idempotency_key: "mail-1" }] },
    answers: { 202: ["BatchAccepted", "The outcome of each entry, in the request's order."] },
  },
  createUpload: {
    summary: "Announce a file",
    description:
      "The client then sends the bytes to `url` itself, and names `upload_id` in `files` of a submit. Only the caller that announced " +
      "the upload, or an operator, can submit it. An upload that no task has taken after 24 hours is deleted. Counts toward the " +
      "tenant's rate of submits, and its bytes toward those of the tenant's open uploads.",
    body: withName("NewUpload", uploadSchema),
    example: { content_type: "video/mp4", size_bytes: 734003200, file_name: "talk.mp4" },
    answers: { 201: ["Upload", "The upload is announced."] },
    problems: ["rate_limited", "quota_exceeded"],
  },
  listTasks: {
    summary: "List tasks, newest first",
    description: `A submitter sees the tasks that it submitted. Filters combine with AND. ${page}`,
    query: taskListSchema,
    parameters: ["tags"],
    answers: { 200: ["TaskList", "One page of tasks."] },
  },
  readTask: {
    summary: "Read a task",
    description:
      "While the task has not ended, wait `Retry-After` seconds before the next request. Or let the request wait: with `wait`, the answer comes " +
      "within a second of the task's end, or after `wait` seconds with the task as it is then. If too many requests wait, " +
      "the answer comes immediately.",
    parameters: ["wait", "Prefer", "If-None-Match"],
    answers: {
      200: ["Task", "The task.", ["ETag", "Cache-Control"], ofWait],
      304: { ...notModified, optionalHeaders: ofWait },
    },
    problems: ["rate_limited"],
  },
  listAttempts: {
    summary: "List the attempts of a task, oldest first",
    answers: { 200: ["AttemptList", "Every finished attempt."] },
  },
  readResult: {
    summary: "Read the result of a task",
    description:
      "Results over 300 KiB are stored apart. `Location` is then a URL that needs no token and works for up to 15 minutes; after that, request the result again. " +
      "Do not send the token to that URL.",
    answers: {
      200: {
        description: "The bare result.",
        body: "result",
        headers: ["Cache-Control"],
        optionalHeaders: ["Content-Disposition"],
      },
      202: ["ResultPending", "The task has not ended.", ["Retry-After", "Cache-Control"]],
      303: {
        description: "The result is at `Location`: stored apart, or a resource of its own that the handler named.",
        headers: ["Location", "Cache-Control"],
      },
    },
    problems: ["conflict", "gone", "rate_limited"],
  },
  listLogs: {
    summary: "Read the log of a task",
    description:
      "The log has the lines that the handler wrote with `task.log` and `console`, and Offload's own lines about the submit and the attempts. A page may have fewer lines than `limit`, or none, although others follow. In a deployment, lines can be read about five seconds after they were written, and as long as CloudWatch Logs keeps them.",
    role: "viewer",
    query: logListSchema,
    answers: { 200: ["TaskLog", "Lines of the task."] },
  },
  listChildren: {
    summary: "List a task's children",
    description: `In the order of their spawn. ${page}`,
    query: childListSchema,
    answers: { 200: ["TaskList", "One page of children."] },
  },
  signalTask: {
    summary: "Send a signal to a task",
    description:
      "Answers the task's wait for the signal of this name, which may have begun already or begins later. The body is any JSON of at most 256 KiB. " +
      "A repeated request changes nothing. Another body, or a wait that has timed out, is a `conflict`. Where the handler reads the signals of this name one after the other (`task.nextSignal`), each request is one more, " +
      "and a repeat with the same `Idempotency-Key` and body counts once (with another body it is `idempotency_key_reused`); at most 100 wait to be read, then `quota_exceeded`. Signals count toward the tenant's `submits_per_second`.",
    parameters: ["Idempotency-Key"],
    body: withName("Signal", z.unknown()),
    bodyOptional: true,
    example: { by: "ada@example.com" },
    answers: { 202: "The task has the signal." },
    problems: [...signalProblems, "idempotency_key_reused"],
  },
  readSignalLink: {
    summary: "Open the link of a signal",
    description:
      "A page with a button, which sends the form to the same address. It is the same for every link, also for one that is not valid, and changes nothing.",
    answers: { 200: linkPage("The page.") },
  },
  sendSignalByLink: {
    summary: "Send the signal of a link",
    description:
      "Needs no key: the link is one of `task.signalUrl`, and sends one signal to one task. The body is JSON, or the fields of a form (`application/x-www-form-urlencoded`), " +
      "of at most 256 KiB. A repeat with the same body changes nothing; another body is a `conflict`. Counts toward the tenant's `submits_per_second`.",
    body: withName("LinkAnswer", z.unknown()),
    bodyOptional: true,
    example: { by: "ada@example.com" },
    answers: { 202: linkPage("The task has the signal.") },
    problems: [...signalProblems, "not_found"],
  },
  openChannel: {
    summary: "Open a channel, which receives messages about tasks by WebSocket",
    description:
      "A channel receives messages about the tasks that its principal submitted, or with `scope: tenant` about all tasks of the tenant, which requires the role viewer. The URL is for one connection within 60 seconds. `not_found`: the deployment has no channels.",
    body: withName("NewChannel", channelSchema),
    bodyOptional: true,
    example: { scope: "own" },
    answers: { 201: ["Channel", "The channel is open for one connection."] },
    problems: ["not_found", "rate_limited"],
  },
});
