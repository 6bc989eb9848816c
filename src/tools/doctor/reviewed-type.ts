import type { TaskType } from "../../core/task/task.ts";
import type { RateLimitOption } from "../../core/task/type-limits.ts";
import type { CodeFindings, ReviewedType } from "./finding.ts";
import { typeChecks } from "./type-checks.ts";

/** The part of a task type that is data. */
export const reviewedType = (type: TaskType): ReviewedType => ({
  name: type.name,
  priority: type.priority,
  runsOn: type.runsOn,
  timeoutSeconds: type.timeoutSeconds,
  maxAttempts: type.maxAttempts,
  breaker: type.breaker && {
    ...{ failures: type.breaker.failures, coolDownSeconds: type.breaker.coolDownSeconds },
    ...(type.breaker.key && { keyed: true as const }),
  },
  rateLimit: type.rateLimit && { limit: numberOf(type.rateLimit), perSeconds: type.rateLimit.perSeconds },
  children: type.children && {},
});

/** Null: it is a function of the input. */
const numberOf = ({ limit }: RateLimitOption): number | null => (typeof limit === "function" ? null : limit);

/** Runs the checks that need the types' schemas and functions. */
export const findingsOfCode = (types: readonly TaskType[]): CodeFindings =>
  Object.fromEntries(typeChecks.map(({ id, findIn }) => [id, findIn(types)]));
