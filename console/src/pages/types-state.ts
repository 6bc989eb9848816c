import type { TypeView } from "../../../src/api/acts/views.ts";
import { count, duration } from "../format.ts";
import { tenant } from "../session.ts";

/** The state of a type: its shape, and its words. */
export function stateOf({ paused, breaker, stopped_tenants: stopped = [] }: TypeView): { of: string; word: string } {
  if (breaker?.state === "open") return { of: "breaker", word: "breaker open" };
  if (paused?.all != null) return { of: "paused", word: "paused for all" };
  if (paused?.tenant != null) return { of: "paused", word: `paused for ${tenant.value}` };
  if (stopped.length > 0)
    return { of: "paused", word: `stopped for ${stopped.map((one) => one.tenant_id).join(", ")}` };
  return { of: "open", word: "runs" };
}

/** The rates of a type, such as `3 in 1 s and 2,000 in 1 d`. */
export const rateText = (rate: NonNullable<TypeView["rate_limit"]>): string =>
  [rate, ...(rate.longer ?? [])]
    .map(
      ({ limit, per_seconds: seconds }) =>
        `${limit === null ? "as the input says" : count(limit)} in ${duration(seconds * 1000)}`,
    )
    .join(" and ");
