import * as z from "zod";
import type { KeyLimitView, OpenKeyView, PausedView } from "../../core/extras/limits/view-flow.ts";
import type { KeyLimit, TenantPause, TierPause, TypeBreaker, TypeLimits, TypePause } from "../acts/views.ts";
import { object, viewOf } from "./json-schema.ts";
import { count, flag, number, text, textOrNull, tier, time, timeOrNull } from "./words.ts";

const since = timeOrNull.describe("Time of the pause. Null: it is not paused.");

/** The sharing of a limit. */
const sharing = {
  keyed: flag.describe("True: tasks with equal keys share the limit. False: all tasks of the type."),
  scope: z
    .enum(["tenant", "deployment"])
    .describe("`tenant`: each tenant has the limit for itself. `deployment`: all tenants share it."),
};

const definedText = "Present when an operator set another one. Null: the definition has none.";

const byInputText = `${definedText} With a key: it is a function of the input.`;

const definedRate = {
  defined_limit: number.nullable().optional().describe(`The limit of the definition. ${byInputText}`),
  defined_per_seconds: number.nullable().optional().describe(`The time of the definition. ${definedText}`),
};

const ofInput = "Null: the input of its newest task decides.";

const concurrency = object("ConcurrencyLimit", {
  limit: number.nullable().describe(`Attempts of one key that run at the same time. ${ofInput}`),
  ...sharing,
  order: z
    .literal("strict")
    .optional()
    .describe("A task of a key starts when the one before it has ended for good. Absent: it may start before."),
  on_dead_letter: z
    .enum(["continue", "hold"])
    .optional()
    .describe("`hold`: the tasks behind a dead letter of their key wait until it is replayed and over, or discarded."),
  defined_limit: number.nullable().optional().describe(`The limit of the definition. ${byInputText}`),
})
  .nullable()
  .describe("Null: the type has no limit of attempts at the same time.");

const longerRate = object("LongerRate", {
  limit: number.nullable().describe(`Starts of one key in any \`per_seconds\`, not spaced. ${ofInput}`),
  per_seconds: number.describe("The time in which these start."),
  ...definedRate,
});

const limits = {
  concurrency,
  rate_limit: object("RateLimit", {
    limit: number.nullable().describe(`Starts of one key in \`per_seconds\`, evenly spaced. ${ofInput}`),
    per_seconds: number.describe("The time in which these start."),
    ...sharing,
    ...definedRate,
    longer: z
      .array(longerRate)
      .optional()
      .describe("The other rates of a list, which must allow a start, too. Absent: there are none."),
  })
    .nullable()
    .describe("Null: the type has no rate."),
};

const paused = viewOf<PausedView>()("TypePauses", {
  all: since.describe("Time of the pause for all tenants. Null: there is none."),
  tenant: since.describe("Time of the pause for this tenant. Null: there is none."),
  reason: text
    .optional()
    .describe("The reason of a type that was paused by itself: after a resume all attempts failed again."),
})
  .nullable()
  .describe("Null: the type is not paused for this tenant.");

const keyLimit = {
  key: text.describe("The key."),
  tenant_id: textOrNull.describe("Id of the tenant. Null: tenants share the limit."),
  kind: z.enum(["concurrency", "rate"]).describe("The limit of the type that this one replaces."),
  limit: number.describe("Attempts that run at the same time, or starts in `per_seconds`."),
  per_seconds: number.nullable().describe("Null: it is a limit of attempts at the same time."),
  until: timeOrNull.describe("Time at which it ends. Null: it holds until it is removed."),
};

const openBreakerKey = viewOf<OpenKeyView>()("OpenBreakerKey", {
  key: text.describe("The key."),
  failures_in_a_row: number.describe("Failed attempts of the key since its last success."),
  open_until: time.describe("From then on one task of the key tries."),
  open_since: timeOrNull.describe("Time at which it opened. Null: unknown."),
});

const breaker = object("Breaker", {
  failures: number.describe("Failed attempts in a row that open it."),
  cool_down_seconds: number.describe("Time until one task tries."),
  keyed: z.literal(true).optional().describe("Each key has a breaker. Absent: the type has one."),
  state: z
    .enum(["closed", "open"])
    .describe("`open`: tasks of the type wait, but for one that tries; with keys: those of at least one key."),
  failures_in_a_row: count.describe(
    "Failed attempts of this tenant since the last success; with keys: the most of any key.",
  ),
  open_until: timeOrNull.describe("From then on one task tries, of one key. Null: it is closed."),
  open_since: timeOrNull.describe("Time at which it opened. Null: it is closed, or an earlier release opened it."),
  open_keys: z
    .array(openBreakerKey)
    .optional()
    .describe("The keys whose breakers are open. Absent: the breaker has no key."),
})
  .nullable()
  .describe("The breaker of the type for this tenant. Null: the type has none.");

const typeKeyLimit = viewOf<KeyLimitView>()("TypeKeyLimit", keyLimit);

/** The fields of a task type that say when its tasks start. */
export const typeFlow = {
  ...limits,
  breaker,
  paused,
  key_limits: z
    .array(typeKeyLimit)
    .optional()
    .describe(
      "Limits of single keys: of the caller's tenant and of all together, or of all tenants in a list for them. Absent: there are none.",
    ),
};

const state = { paused: flag.describe("True when it is paused now."), since };

viewOf<TierPause>()("QueuePause", { tier: tier.describe("The tier."), ...state });

object("QueueRecovery", { tier: tier.describe("The tier.") });

viewOf<TenantPause>()("TenantPause", { tenant_id: text.describe("Id of the tenant."), ...state });

const ofType = { type: text.describe("Name of the type.") };

viewOf<TypePause>()("TypePause", { ...ofType, paused });

viewOf<TypeBreaker>()("TypeBreaker", { ...ofType, breaker });

viewOf<KeyLimit>()("KeyLimit", { ...ofType, ...keyLimit });

viewOf<TypeLimits>()("TypeLimits", { ...ofType, ...limits });
