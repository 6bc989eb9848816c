import * as z from "zod";
import { isSchedulable, parseTime } from "../../../util/time-text.ts";
import { resultKeyFault } from "../../model/result-key.ts";
import { tiers } from "../../model/tier.ts";
import { checkUnique, uniqueSchema } from "../../model/unique-body.ts";
import { halfCharacter } from "../../model/well-formed.ts";
import { longestTypeName, wholeFields } from "./submit-bounds.ts";

/**
 * A time of a request, parsed to epoch milliseconds. The zone is required: without it, the time depends on the machine.
 */
export const timeSchema = z
  .string("expected an ISO 8601 time with its zone")
  .meta({ format: "date-time" })
  .transform((text, context) => {
    const time = parseTime(text);
    if (typeof time === "number" && isSchedulable(time)) return time;
    const message = typeof time === "string" ? time : "expected a time in the years 1970 to 2199 in UTC";
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  });

const whole = (name: keyof typeof wholeFields) => {
  const [least, most] = wholeFields[name];
  return z.int().min(least).max(most);
};

/** The fields of a submit, as the contract has them. */
export const submitFields = {
  type: z.string().min(1).max(longestTypeName),
  input: z.unknown().optional(),
  priority: z.enum(tiers).optional(),
  delay_seconds: whole("delay_seconds").optional(),
  run_at: timeSchema.optional(),
  max_attempts: whole("max_attempts").optional(),
  expires_in_seconds: whole("expires_in_seconds").optional(),
  retention_seconds: whole("retention_seconds").optional(),
  files: z.record(z.string().max(64), z.uuid("expected the id of an upload")).optional(),
  result_key: z
    .record(z.string().max(32), z.unknown())
    .superRefine((key, context) => {
      const fault = resultKeyFault(key);
      if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
    })
    .optional(),
  callback: z.strictObject({ url: z.string().min(1).max(2048), include_result: z.boolean().optional() }).optional(),
  tags: z
    .record(
      z.string().regex(/^[a-z0-9_.-]{1,64}$/, "expected 1 to 64 of a-z, 0-9, '_', '.' and '-'"),
      z
        .string()
        .max(256)
        .refine((value) => value.isWellFormed(), halfCharacter),
    )
    .refine((tags) => Object.keys(tags).length <= 10, "expected at most 10 tags")
    .meta({ maxProperties: 10 })
    .optional(),
  unique: uniqueSchema.optional(),
};

export const submitSchema = z
  .strictObject(submitFields)
  .refine((body) => body.delay_seconds === undefined || body.run_at === undefined, {
    path: ["run_at"],
    message: "expected either delay_seconds or run_at, not both",
  })
  .superRefine(checkUnique);

/** The most entries of a batch. */
export const mostEntries = 500;

/** Body of a batch. Each entry is checked by itself. */
export const batchSchema = z.strictObject({ tasks: z.array(z.unknown()).min(1).max(mostEntries) });

/** `idempotency_key` of an entry. Its characters are checked as those of the header are. */
export const idempotencyKeySchema = z
  .string()
  .regex(/^[\x20-\x7e]{1,255}$/, "expected 1 to 255 printable ASCII characters")
  .optional();

/** An entry of a batch: the fields of a submit, which `submit` checks, and its own key. */
export const entrySchema = z.looseObject({ idempotency_key: idempotencyKeySchema });

export type SubmitBody = z.output<typeof submitSchema>;
