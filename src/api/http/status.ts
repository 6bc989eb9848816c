import { type LinePlaces, withPlace } from "../../core/extras/limits/place-in-line.ts";
import { iso, statusAt, type TaskRecord } from "../../core/model/record.ts";
import type { FamilyReadPorts } from "../../core/pipeline/end/child-results.ts";
import { attemptsOf, attemptView, resultOf, viewTask } from "../../core/pipeline/end/view.ts";
import type { Blobs } from "../../core/ports/blob.ts";
import type { Clock } from "../../core/ports/tasks.ts";
import type { UniqueKeys } from "../../core/ports/unique.ts";
import { contentDisposition } from "../../util/content-disposition.ts";
import { lazily } from "../../util/lazily.ts";
import { pollHeaders } from "../acts/task.ts";
import { type ApiPorts, type HandlersOf, identify } from "./api.ts";
import type { ApiResponse, Call } from "./call.ts";
import { withEtag } from "./etag.ts";
import { findTask } from "./find-task.ts";
import { createPollingGuard } from "./polling-guard.ts";
import type { TaskListPorts } from "./task-list.ts";
import type { WaitPorts } from "./wait.ts";

export interface StatusPorts extends ApiPorts, TaskListPorts, FamilyReadPorts, WaitPorts {
  /** The bucket of files, large inputs and large results. */
  blobs: Blobs;
  /** Tasks by their unique keys. */
  uniqueKeys: Pick<UniqueKeys, "holder">;
  /** Lines, in which some tasks wait. */
  lines: LinePlaces;
  /** Fields of `/health` in addition to `status`. */
  health: Record<string, unknown>;
  /** Reads the OpenAPI document of this deployment, as JSON text. */
  openApi: () => string;
}

/** Handlers for `/health`, `/openapi.json` and `/identity`, and those that read tasks. */
export function taskReads(ports: StatusPorts) {
  const guard = createPollingGuard(ports.clock);
  const guarded = async (call: Call) => {
    const identity = identify(call);
    guard(identity, call.req.params.task_id ?? "");
    return findTask(ports, call, identity);
  };
  // Loaded with the first request that may wait, as other polls do not need it.
  const waiting = lazily(async () => (await import("./wait.ts")).createWaiting(ports));
  const waitingAnswer = async (call: Call) =>
    (await waiting())({ call, find: () => guarded(call), answer: (record) => taskAnswer(ports, call, record) });
  return {
    readHealth: (call) => call.json({ status: "ok", ...ports.health }),
    readIdentity: (call) => {
      const { tenantId, principal, role, inputs } = identify(call, "submitter", "all");
      return call.unstored({ tenant_id: tenantId, principal, role, ...(inputs && { inputs }) });
    },
    readOpenApi: (call) => {
      call.header("cache-control", "public, max-age=300");
      return withEtag(call, ports.openApi(), json);
    },
    // Loaded with the first list request, as polls do not need its schema.
    listTasks: async (call) => (await import("./task-list.ts")).listAnswer(ports, call),
    readTask: async (call) => (mayWait(call) ? waitingAnswer(call) : taskAnswer(ports, call, await guarded(call))),
    listAttempts: async (call) => {
      const identity = identify(call);
      const forOperator = identity.role !== "submitter";
      const attempts = await attemptsOf(ports, await findTask(ports, call, identity), { stacks: forOperator });
      return call.unstored({ attempts: attempts.map((attempt) => attemptView(attempt, forOperator)) });
    },
    listChildren: async (call) => (await import("./task-list.ts")).childListAnswer(ports, call),
    readResult: async (call) => resultAnswer(ports, call, await guarded(call)),
  } satisfies Partial<HandlersOf<"status">>;
}

const json = "application/json";

const mayWait = ({ req }: Call): boolean => req.query.wait !== undefined || req.header("prefer") !== undefined;

async function taskAnswer(ports: StatusPorts, call: Call, record: TaskRecord): Promise<ApiResponse> {
  const forOperator = record.waiting_for?.kind === "concurrency" && identify(call).role !== "submitter";
  const body = JSON.stringify(await withPlace(ports, record, await viewTask(ports, record), forOperator));
  setPollHeaders(ports, call, record);
  return withEtag(call, body, json);
}

/** Sets the headers that tell a client when to poll again. */
export function setPollHeaders(ports: { clock: Clock }, call: Call, record: TaskRecord): void {
  for (const [name, value] of Object.entries(pollHeaders(ports, record))) call.header(name, value);
}

async function resultAnswer(ports: StatusPorts, call: Call, record: TaskRecord): Promise<ApiResponse> {
  const result = await resultOf(ports, record);
  setPollHeaders(ports, call, record);
  if (result === undefined) {
    return call.json({ task_id: record.task_id, status: statusAt(record, iso(ports.clock.now())) }, 202);
  }
  if ("location" in result) {
    // The URL of a stored result is a secret, and works for a short time only.
    call.header("cache-control", "no-store");
    call.header("location", result.location);
    return call.body(null, 303);
  }
  call.header("content-type", result.contentType);
  if (result.fileName !== undefined) call.header("content-disposition", contentDisposition(result.fileName));
  return call.body(typeof result.body === "string" ? result.body : new Uint8Array(result.body));
}
