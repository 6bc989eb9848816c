import * as z from "zod";
import type { LimitWait, StoppedTenant } from "../../core/extras/limits/view-flow.ts";
import { runsOnPlaces } from "../../core/task/type-options.ts";
import type { TypeList, TypeView } from "../acts/views.ts";
import { typeFlow } from "./flow-answers.ts";
import { viewOf } from "./json-schema.ts";
import { count, flag, number, text, tier, time, timeOrNull } from "./words.ts";

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
