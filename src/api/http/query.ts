import * as z from "zod";
import type { TaskFilter } from "../../core/control/list.ts";
import { halfCharacter, longestKey } from "../../core/model/idempotency.ts";
import { parseInput } from "../../core/model/invalid.ts";
import { endOfTimeMs, iso } from "../../core/model/record.ts";
import { statuses, tiers } from "../../core/model/words.ts";
import { parseTime } from "../../util/time-text.ts";
import type { Call } from "./call.ts";

/** The first millisecond of the year 0: earlier times cannot be compared as text. */
const startOfTimeMs = Date.parse("0000-01-01T00:00:00Z");

const timeText = z.union([z.string().meta({ format: "date-time" }), z.string().meta({ format: "date" })]);

/** A time in a query, converted so that it can be compared as text with stored times. */
export const timeParameter = timeText.transform((text, context) => {
  const isDate = /^\d{4}-\d\d-\d\d$/.test(text);
  const time = parseTime(isDate ? `${text}T00:00:00Z` : text);
  if (typeof time === "number" && time >= startOfTimeMs && time < endOfTimeMs) return iso(time);
  const message = typeof time === "string" ? time : "expected a time in the years 0000 to 9999 in UTC";
  context.addIssue({ code: "custom", message: message.replace("its zone", "its zone, or a date") });
  return z.NEVER;
});

/** A whole number from 1 on in a query. */
export const numberUpTo = (most: number) =>
  z
    .string()
    .regex(new RegExp(`^\\d{1,${String(most).length}}$`), `expected a whole number from 1 to ${most}`)
    .transform(Number)
    .pipe(z.int().min(1).max(most));

/** The parameters of a list. */
export const pageParameters = {
  limit: numberUpTo(100).default(50),
  cursor: z.string().max(2048).optional(),
};

/** Query of `GET /tasks`, without its `tag.` parameters. */
export const taskListSchema = z.object({
  ...pageParameters,
  q: z
    .string()
    .trim()
    .min(1)
    .max(128)
    .regex(/^\P{Cc}*$/u, "expected printable characters")
    .optional(),
  status: z.enum(statuses).optional(),
  retrying: z
    .enum(["true", "false"])
    .transform((word) => word === "true")
    .optional(),
  type: z.string().max(64).optional(),
  priority: z.enum(tiers).optional(),
  created_after: timeParameter.optional(),
  created_before: timeParameter.optional(),
  unique_key: z
    .string()
    .min(1)
    .max(longestKey)
    .refine((key) => key.isWellFormed(), halfCharacter)
    .optional(),
});

/** A key belongs to the tasks of one type. */
const withType = taskListSchema.refine(({ unique_key, type }) => unique_key === undefined || type !== undefined, {
  path: ["type"],
  message: "expected with unique_key: a key belongs to one type",
});

/**
 * Reads a query with a schema; parameters that the schema does not name are ignored.
 * @throws Problem `invalid_input`
 */
export function queryOf<Schema extends z.ZodType>(call: Call, schema: Schema): z.output<Schema> {
  return parseInput(schema, call.req.query);
}

/** Reads the query of `GET /tasks`. */
export function taskListQuery(call: Call) {
  const { limit, cursor, q, unique_key: uniqueKey, ...query } = queryOf(call, withType);
  const { created_after: createdAfter, created_before: createdBefore, ...same } = query;
  const named = Object.entries(call.req.query).filter(([name]) => name.startsWith("tag."));
  const tags = Object.fromEntries(named.map(([name, value]) => [name.slice(4), value]));
  const filter: TaskFilter = { ...same, tags, createdAfter, createdBefore, uniqueKey };
  return { filter, limit, cursor, q };
}
