import * as z from "zod";
import { longestKey } from "./unique-key.ts";
import { halfCharacter } from "./well-formed.ts";

/** Effects of a submit whose key another task has that has not ended. */
const uniqueModes = ["existing", "reject", "replace", "debounce", "restart", "collect"] as const;

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
export const maxWaitSeconds = ({ wait_seconds: wait = 0, max_wait_seconds: most }: Unique): number =>
  most ?? Math.min(wait * defaultMaxWaits, longestMaxWaitSeconds);

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
export function checkUnique(body: UniqueBody, context: z.RefinementCtx): void {
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
