import * as z from "zod";
import { errorKinds } from "../../core/model/errors.ts";
import { type ProblemCode, problemCodes } from "../../core/model/problem.ts";
import { withName } from "./json-schema.ts";
import { id, status, text, textOrNull } from "./words.ts";

const codes = Object.keys(problemCodes) as [ProblemCode, ...ProblemCode[]];

/** Fields of every problem document. */
export const problemFields = {
  type: text.describe("`urn:offload:error:` and the code."),
  code: z.enum(codes).describe("The code of the problem."),
  title: text.describe("Short text of the code."),
  status: z.int().min(400).max(599).describe("HTTP status."),
  detail: text.describe("Explanation for people."),
  errors: z
    .array(
      z.object({
        path: text.describe("JSON pointer into the request."),
        message: text.describe("Fault of the field."),
      }),
    )
    .describe("Faults of the request, by field.")
    .optional(),
  correlation_id: text.describe("Id of the request, which is also in the log lines."),
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
      task_id: id.optional().describe("With `idempotency_key_reused`: the task that the key has made."),
      schedule_id: id.optional().describe("With `conflict` of `POST /schedules`: the schedule that has the name."),
      task_status: status.optional().describe("Only of `GET /tasks/{task_id}/result`: how the task ended."),
      error: textOrNull.optional().describe("Only there: the task's error."),
      error_type: textOrNull.optional().describe("Only there: name of the error's class."),
      error_kind: z
        .enum(errorKinds)
        .nullable()
        .optional()
        .describe("Only there: failure class, which decides about further attempts."),
    })
    .describe("A refused request (RFC 9457). Read `code`, not `detail`."),
);
