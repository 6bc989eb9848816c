import * as z from "zod";
import { roles } from "../core/model/identity.ts";
import { auditListSchema } from "../http/audit.ts";
import type { AnyRouteName } from "../http/routes.ts";
import type { AuditEntry } from "../operations/views.ts";
import { sameAs, withName } from "./json-schema.ts";
import type { Operation } from "./operation.ts";
import { page, uncached } from "./operation-parts.ts";
import { text, textOrNull, time } from "./words.ts";

const entry = withName(
  "AuditEntry",
  sameAs<AuditEntry>()(
    z.object({
      audit_id: text.describe("Id of the entry."),
      at: time.describe("Time of the request."),
      actor: text.describe(
        "Principal of the caller. `cli:<user>`: a command that works on the table itself. `offload`: a type that paused itself after its resume.",
      ),
      role: z
        .enum(roles)
        .nullable()
        .describe("Role of the caller. Null: the actor has access to the table, or is `offload`."),
      action: text.describe("`operationId` of the request; for a command its words, such as `keys create`."),
      target: z.record(text, text).describe("Parts of the request's path, such as `task_id`."),
      status: z
        .int()
        .nullable()
        .describe("HTTP status of the answer. Null: none yet, or the process died, and the change may have been made."),
      request: z.unknown().describe("Body of the request. Null: it has none, or one that may have an input of a task."),
      correlation_id: text.describe("`X-Correlation-Id` of the request."),
    }),
  ),
);

const auditList = withName(
  "AuditList",
  z.object({
    entries: z.array(entry).describe("Newest first. A page may have fewer than `limit` although others follow."),
    next_cursor: textOrNull.describe("`cursor` of the next page. Null: this is the last one."),
  }),
);

/** The route of the audit. */
export const auditOperations = {
  listAudit: {
    tag: "service",
    summary: "List what operators and admins changed",
    description: `The changes of the last 400 days, newest first. \`scope=deployment\`, for admins, lists the changes that concern all tenants. ${page}`,
    role: "viewer",
    query: auditListSchema,
    answers: { 200: uncached("One page of entries.", auditList) },
    problems: ["malformed_request"],
  },
} as const satisfies Partial<Record<AnyRouteName, Operation>>;
