import * as z from "zod";
import type {
  KeyLimitView,
  LimitWait,
  OpenKeyView,
  PausedView,
  StoppedTenant,
} from "../../core/extras/limits/view-flow.ts";
import { runsOnPlaces } from "../../core/task/type-options.ts";
import type {
  KeyLimit,
  TenantPause,
  TierPause,
  TypeBreaker,
  TypeLimits,
  TypeList,
  TypePause,
  TypeView,
} from "../acts/views.ts";
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

const keyLimit = viewOf<KeyLimitView>()("TypeKeyLimit", {
  key: text.describe("The key."),
  tenant_id: textOrNull.describe("Id of the tenant. Null: tenants share the limit."),
  kind: z.enum(["concurrency", "rate"]).describe("The limit of the type that this one replaces."),
  limit: number.describe("Attempts that run at the same time, or starts in `per_seconds`."),
  per_seconds: number.nullable().describe("Null: it is a limit of attempts at the same time."),
  until: timeOrNull.describe("Time at which it ends. Null: it holds until it is removed."),
});

/** The fields of a task type that say when its tasks start. */
const typeFlow = {
  ...limits,
  breaker,
  paused,
  key_limits: z
    .array(keyLimit)
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

viewOf<KeyLimit>()("KeyLimit", { ...ofType, ...keyLimit.shape });

viewOf<TypeLimits>()("TypeLimits", { ...ofType, ...limits });

const jsonSchema = z.looseObject({}).describe("JSON Schema, draft 2020-12.");

const limitWait = viewOf<LimitWait>()("LimitWait", {
  since: time.describe("Time from which the first of them waits."),
  tasks: number.describe("Their number. At most 10 of each of 5 lines of a limit are counted."),
  complete: flag.describe("False: further tasks wait."),
});

const stoppedTenant = viewOf<StoppedTenant>()("StoppedTenant", {
  tenant_id: text.describe("Id of the tenant."),
  paused_since: timeOrNull.describe("Time of its pause of the type. Null: there is none."),
  paused_reason: text
    .optional()
    .describe("The reason of a type that was paused by itself: after a resume its attempts failed again."),
  breaker_open_until: timeOrNull.describe("Null: its breaker is closed."),
  breaker_open_since: timeOrNull.describe("Time at which its breaker opened."),
});

const taskType = viewOf<TypeView>()("TaskType", {
  name: text.describe("Name of the type, as `type` in a submit."),
  description: text.describe("The type's description. Empty: it has none."),
  version: number.describe("Version of the input's shape."),
  priority: tier.describe("Tier of tasks submitted without one."),
  runs_on: z
    .enum(runsOnPlaces)
    .describe("`container`: attempts run in container workers; `function`: in worker functions."),
  timeout_seconds: number.describe("Time-out of one attempt."),
  max_attempts: number.describe("Most attempts of tasks submitted without a number."),
  cancellable: flag.describe("True when clients may cancel tasks of this type."),
  collect: z
    .object({
      max_items: z.int().min(1).max(1000).describe("The most inputs of a task."),
      wait_seconds: count.max(86_400).describe("Time from the first input until the task is due."),
    })
    .optional()
    .describe("Inputs of submits gather in one task. Absent: each submit is a task."),
  input_schema: jsonSchema,
  output_schema: jsonSchema.nullable().describe("Null: the type declares no schema of its result."),
  ...typeFlow,
  waiting_since: timeOrNull.describe(
    "Time from which the first task waits behind a pause of the type or its open breaker, of the caller's tenant or all. Null: none waits there.",
  ),
  waits_for_limit: limitWait
    .nullable()
    .describe(
      "The tasks that wait for a place or a start of the type's limits: of the caller's tenant, or of all in a list for all tenants. Lines that tenants share are only in the latter. Null: none waits there.",
    ),
  stopped_tenants: z
    .array(stoppedTenant)
    .optional()
    .describe(
      "The first 100 tenants for which alone the type is paused, or its breaker open. Only in a list for all tenants.",
    ),
});

viewOf<TypeList>()("TypeList", {
  types: z.array(taskType).describe("The task types, without probes where these are not registered."),
  tenant_paused_since: timeOrNull.describe("Time of the pause of the caller's tenant. Null: it is not paused."),
});
