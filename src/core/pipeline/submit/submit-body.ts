import * as z from "zod";
import { isSchedulable, parseTime } from "../../../util/time-text.ts";
import { halfCharacter, longestKey, uniqueModes } from "../../model/idempotency.ts";
import { resultKeyFault } from "../../model/result-key.ts";
import { longestTypeName, tiers, wholeFields } from "../../model/words.ts";

/** The longest wait of a debounced submit in seconds: a day; and the longest one of a burst: a week. */
const longestWaitSeconds = 86_400;
const longestMaxWaitSeconds = 604_800;

/** Default of `max_wait_seconds`, in multiples of `wait_seconds`. */
const defaultMaxWaits = 10;

const uniqueFields = z.strictObject({
  key: z
    .string()
    .min(1)
    .max(longestKey)
    .refine((key) => key.isWellFormed(), halfCharacter),
  mode: z.enum(uniqueModes).default("existing"),
  wait_seconds: z.int().min(1).max(longestWaitSeconds).optional(),
  max_wait_seconds: z.int().min(1).max(longestMaxWaitSeconds).optional(),
});

export type Unique = z.output<typeof uniqueFields>;

/** The member `unique` of a submit. */
export const uniqueSchema = uniqueFields.superRefine((unique, context) => {
  const refuse = (member: keyof Unique, message: string) =>
    context.addIssue({ code: "custom", path: [member], message });
  if (unique.mode !== "debounce") {
    for (const member of ["wait_seconds", "max_wait_seconds"] as const)
      if (unique[member] !== undefined) refuse(member, "expected only with the mode debounce");
  } else if (unique.wait_seconds === undefined) {
    refuse("wait_seconds", "expected with the mode debounce");
  } else if (unique.max_wait_seconds !== undefined && unique.max_wait_seconds < unique.wait_seconds) {
    refuse("max_wait_seconds", "expected at least wait_seconds");
  }
});

/** True for a mode in which a submit gives a waiting task its input. */
export const replaces = ({ mode }: Pick<Unique, "mode">): boolean => mode === "replace" || mode === "debounce";

/** The most seconds from the first submit of a burst until it is due. */
export const maxWaitSeconds = ({ wait_seconds: wait = 0, max_wait_seconds: max }: Unique): number =>
  max ?? Math.min(wait * defaultMaxWaits, longestMaxWaitSeconds);

interface UniqueBody {
  unique?: Unique | undefined;
  delay_seconds?: unknown;
  run_at?: unknown;
  files?: unknown;
  result_key?: unknown;
}

/**
 * Refuses members that do not go with `unique`. Files belong to one task, and a result key to one client: neither can
 * be given to a task of an earlier submit.
 */
function checkUnique(body: UniqueBody, context: z.RefinementCtx): void {
  const { unique } = body;
  if (unique === undefined) return;
  const refuse = (member: keyof UniqueBody, message: string) =>
    context.addIssue({ code: "custom", path: [member], message });
  if (replaces(unique) || unique.mode === "collect") {
    for (const member of ["files", "result_key"] as const)
      if (body[member] !== undefined) refuse(member, `not with unique.mode ${unique.mode}`);
  }
  if (unique.mode !== "debounce" && unique.mode !== "collect") return;
  for (const member of ["delay_seconds", "run_at"] as const)
    if (body[member] !== undefined) refuse(member, `not with unique.mode ${unique.mode}, which has its own wait`);
}

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
  const [min, max] = wholeFields[name];
  return z.int().min(min).max(max);
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
export const maxEntries = 500;

/** Body of a batch. Each entry is checked by itself. */
export const batchSchema = z.strictObject({ tasks: z.array(z.unknown()).min(1).max(maxEntries) });

/** `idempotency_key` of an entry. Its characters are checked as those of the header are. */
export const idempotencyKeySchema = z
  .string()
  .regex(/^[\x20-\x7e]{1,255}$/, "expected 1 to 255 printable ASCII characters")
  .optional();

/** An entry of a batch: the fields of a submit, which `submit` checks, and its own key. */
export const entrySchema = z.looseObject({ idempotency_key: idempotencyKeySchema });

export type SubmitBody = z.output<typeof submitSchema>;
