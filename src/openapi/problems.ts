import * as z from "zod";
import { errorKinds } from "../core/model/errors.ts";
import { type ProblemCode, problemCodes } from "../core/model/problem.ts";
import { statuses } from "../core/model/status.ts";
import { withName } from "./json-schema.ts";

const codes = Object.keys(problemCodes) as [ProblemCode, ...ProblemCode[]];

/** Fields of every problem document. */
export const problemFields = {
  type: z.string().describe("`urn:offload:error:` and the code."),
  code: z.enum(codes),
  title: z.string(),
  status: z.int().min(400).max(599),
  detail: z.string(),
  errors: z
    .array(
      z.object({
        path: z.string().describe("JSON pointer into the request."),
        message: z.string().describe("Fault of the field."),
      }),
    )
    .optional(),
  correlation_id: z.string(),
};

export const problem = withName(
  "Problem",
  z
    .looseObject({
      ...problemFields,
      retry_after_seconds: z
        .int()
        .optional()
        .describe("Seconds before an entry of a batch may be sent again. A response of its own has `Retry-After`."),
      task_id: z.uuid().optional().describe("With `idempotency_key_reused`: the task that the key has made."),
      schedule_id: z
        .uuid()
        .optional()
        .describe("With `conflict` of `POST /schedules`: the schedule that has the name."),
      task_status: z.enum(statuses).optional().describe("Only of `GET /tasks/{task_id}/result`: how the task ended."),
      error: z.string().nullable().optional().describe("Only there: the task's error."),
      error_type: z.string().nullable().optional().describe("Only there: name of the error's class."),
      error_kind: z
        .enum(errorKinds)
        .nullable()
        .optional()
        .describe("Only there: failure class, which decides about further attempts."),
    })
    .describe("A refused request (RFC 9457). Read `code`, not `detail`."),
);
