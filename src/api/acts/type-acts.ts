import * as z from "zod";
import {
  changeLimits,
  clearKey,
  closeBreaker,
  type KeyOwner,
  limitKey,
  pause,
  resume,
} from "../../core/extras/limits/manage-flow.ts";
import {
  byName,
  keyLimitsIn,
  keyLimitView,
  limitsView,
  limitWait,
  pausedView,
  stoppedTenants,
  typeFlowView,
  waitingSince,
} from "../../core/extras/limits/view-flow.ts";
import { Problem } from "../../core/model/problem.ts";
import { type PauseTarget, pauseName } from "../../core/model/wait-queue.ts";
import type { Identity } from "../../core/model/words.ts";
import type { FlowSetting, FlowSettings, Pause, WaitQueues } from "../../core/ports/flow.ts";
import type { CatalogEntry } from "../../core/task/catalog.ts";
import { longestPerSeconds, maxPermits, maxStarts } from "../../core/task/type-limits.ts";
import type { RunsOn } from "../../core/task/type-options.ts";
import { type Answer, isForAll, on, type TextsOf } from "./act.ts";
import { checkTier, type FlowPorts, pauseText, resumeText } from "./pausing.ts";
import type { TypeView } from "./views.ts";

interface Ports extends FlowPorts {
  flowSettings: FlowSettings;
  lines: Pick<WaitQueues, "first" | "list" | "states"> & FlowPorts["lines"];
}

export const acts = () => {
  const onType = on<Ports, CatalogEntry>({ role: "operator", find: typeIn });
  const all = z.strictObject({ all: z.boolean().optional() });
  const rate = z.strictObject({
    limit: z.int().min(1).max(maxStarts),
    per_seconds: z.int().min(1).max(longestPerSeconds),
  });
  return {
    listTypes: on<Ports, undefined>({ reach: "all", find: () => undefined })({
      run: async (ports, _, __, { by }) => ({ json: await typesView(ports, by) }),
    }),
    pauseType: onType({
      body: all,
      bodyOptional: true,
      run: (ports, type, body, { by }) =>
        pausesAfter(ports, type, by, "pause", body.all, (target) => pause(ports, target, by.principal)),
    }),
    resumeType: onType({
      body: all,
      bodyOptional: true,
      run: (ports, type, body, { by }) =>
        pausesAfter(ports, type, by, "resume", body.all, (target) => resume(ports, target, checkTier, by.principal)),
    }),
    closeBreaker: onType({
      reach: "all",
      body: z.strictObject({ key: z.string().min(1).max(longestKey).optional() }),
      bodyOptional: true,
      find: (ports, asked) => {
        const type = typeIn(ports, asked);
        if (type.breaker !== undefined) return type;
        throw new Problem("conflict", `The type ${type.name} is defined without a breaker.`);
      },
      run: (ports, type, { key }, { by }) => closed(ports, type, by, key?.toWellFormed()),
    }),
    changeLimits: onType({
      role: "admin",
      reach: "all",
      body: z
        .strictObject({
          concurrency: z.int().min(1).max(maxPermits).nullable().optional(),
          rate: rate.nullable().optional(),
        })
        .refine((body) => body.concurrency !== undefined || body.rate !== undefined, {
          message: "expected concurrency or rate",
        })
        .meta({ minProperties: 1 }),
      run: async (ports, type, body, { by }) => {
        if (typeof body.concurrency === "number") refuseStrict(type);
        const set = await changeLimits(ports, type, body, by.principal);
        return { json: { type: type.name, ...limitsView(type, set) } };
      },
    }),
    ...keyActs(),
  };
};

/** @throws Problem `conflict` for a type whose tasks of a key run one after the other */
function refuseStrict({ name, concurrency }: CatalogEntry): void {
  if (concurrency?.order === undefined) return;
  throw new Problem("conflict", `The type ${name} runs the tasks of a key in strict order, one at a time.`);
}

function keyActs() {
  const onKey = on<Ports, { type: CatalogEntry; key: string }>({ role: "operator", find: keyIn });
  return {
    setKeyLimit: onKey({
      body: z.strictObject({
        limit: z.int().min(1).max(maxStarts),
        per_seconds: z.int().min(1).max(longestPerSeconds).optional(),
        expires_in_seconds: z.int().min(1).max(longestKeyLimitSeconds).optional(),
      }),
      run: async (ports, { type, key }, body, { by }) => {
        if (body.per_seconds === undefined) refuseStrict(type);
        const set = await limitKey(ports, type, key, body, ownerOf(by));
        return { json: { type: type.name, ...keyLimitView(set) } };
      },
    }),
    clearKeyLimit: onKey({
      run: async (ports, { type, key }, _, { by }) => {
        await clearKey(ports, type, key, ownerOf(by));
        return {};
      },
    }),
  };
}

/** @throws Problem `not_found`, also for Offload's own types */
function typeIn({ types }: Ports, { params }: { params: Readonly<Record<string, string>> }): CatalogEntry {
  const type = types.get(params.type ?? "");
  if (type === undefined) throw new Problem("not_found", "No such task type. GET /types lists the task types.");
  return type;
}

/** The longest time for which a key has a limit with an end: ten years. */
const longestKeyLimitSeconds = 315_360_000;

const longestKey = 256;

/** @throws Problem `not_found`, also for a text that is no key */
function keyIn(ports: Ports, asked: { params: Readonly<Record<string, string>> }): { type: CatalogEntry; key: string } {
  const type = typeIn(ports, asked);
  const { key = "" } = asked.params;
  if (key === "" || key.length > longestKey) throw new Problem("not_found", `A key has 1 to ${longestKey} characters.`);
  // As the key of a line: a lone surrogate cannot be a key of the table.
  return { type, key: key.toWellFormed() };
}

const ownerOf = ({ tenantId, role, principal }: Identity): KeyOwner => ({
  ...{ tenantId, principal },
  isAdmin: role === "admin",
});

/** Pauses or resumes a type, and answers with its pauses. */
async function pausesAfter(
  { flowSettings }: Ports,
  { name: type }: CatalogEntry,
  { role, tenantId }: Identity,
  what: "pause" | "resume",
  all: boolean | undefined,
  act: (target: PauseTarget) => Promise<unknown>,
): Promise<Answer> {
  if (all && role !== "admin") throw new Problem("forbidden", `Only an admin may ${what} a type for all tenants.`);
  const targets = [
    { scope: "type", type },
    { scope: "type", type, tenantId },
  ] as const;
  await act(targets[all ? 0 : 1]);
  const found = targets.map((target) => flowSettings.find(pauseName(target)) as Promise<Pause | undefined>);
  const [forAll, forTenant] = await Promise.all(found);
  return { json: { type, paused: pausedView(forAll, forTenant) } };
}

/** An admin closes the open breakers of all tenants with `tenant=*`. */
async function closed(ports: Ports, type: CatalogEntry, by: Identity, key: string | undefined): Promise<Answer> {
  if (key !== undefined && !type.breaker?.keyed)
    throw new Problem("conflict", `The breaker of ${type.name} is defined without a key.`);
  const tenantIds = isForAll(by)
    ? stoppedTenants(type.name, await ports.flowSettings.all()).filter((one) => one.breaker_open_until !== null)
    : [{ tenant_id: by.tenantId }];
  for (const { tenant_id: tenantId } of tenantIds)
    await closeBreaker(ports, { type: type.name, tenantId, key }, checkTier, by.principal);
  const settings = byName(await ports.flowSettings.all());
  return { json: { type: type.name, breaker: typeFlowView(type, by.tenantId, settings).breaker } };
}

async function typesView({ types, flowSettings, lines, clock }: Ports, by: Identity) {
  const { tenantId } = by;
  const all = await flowSettings.all();
  const settings = byName(all);
  const ofTenant = settings.get(pauseName({ scope: "tenant", tenantId })) as Pause | undefined;
  const ofAll = isForAll(by);
  const viewed = async (type: CatalogEntry): Promise<TypeView> => {
    const view = typeView(type, tenantId, settings);
    const [waiting_since, waits_for_limit] = await Promise.all([
      waitingSince(lines, type, tenantId, settings),
      limitWait(lines, view, type.name, ofAll ? undefined : tenantId),
    ]);
    return {
      ...{ ...view, waiting_since, waits_for_limit },
      ...keyLimitsIn(type.name, ofAll ? undefined : tenantId, all, clock.now()),
      ...(ofAll && { stopped_tenants: stoppedTenants(type.name, all) }),
    };
  };
  return {
    types: await Promise.all([...types.values()].map(viewed)),
    tenant_paused_since: ofTenant?.since ?? null,
  };
}

const runsOnOf = ({ runs_on = "function" }: { runs_on?: RunsOn }): RunsOn => runs_on;

function typeView(
  type: CatalogEntry,
  tenantId: string,
  settings: ReadonlyMap<string, FlowSetting>,
): Omit<TypeView, "waiting_since" | "waits_for_limit"> {
  return {
    name: type.name,
    description: type.description,
    version: type.version,
    priority: type.priority,
    runs_on: runsOnOf(type),
    timeout_seconds: type.timeout_seconds,
    max_attempts: type.max_attempts,
    cancellable: type.cancellable,
    ...(type.collect && { collect: type.collect }),
    input_schema: type.input_schema,
    output_schema: type.output_schema ?? null,
    ...typeFlowView(type, tenantId, settings),
  };
}

export const texts: TextsOf<ReturnType<typeof acts>> = {
  listTypes: {
    route: "GET /types",
    tag: "service",
    summary: "List the task types",
    description: "The list has the limits in force, and the pauses and breakers of the caller's tenant.",
    answers: { 200: ["TypeList", "The task types that this deployment accepts."] },
  },
  pauseType: {
    route: "POST /types/{type}/pause",
    notes: ["body"],
    body: "TypePauseRequest",
    fields: { all: "True: for all tenants, which requires the role admin. Default: for the caller's tenant." },
    summary: "Pause a task type",
    description: [
      "Pauses the type for the caller's tenant, or with `all` for all tenants, which requires the role admin.",
      pauseText,
    ],
    answers: { 200: ["TypePause", "The pauses of the type."] },
  },
  resumeType: {
    route: "POST /types/{type}/resume",
    notes: ["body"],
    body: "TypePauseRequest",
    summary: "Resume a task type",
    description: [
      "Ends the pause for the caller's tenant, or with `all` the one for all tenants, which requires the role admin. The other pause stays.",
      resumeText,
    ],
    answers: { 200: ["TypePause", "The pauses of the type that stay."] },
  },
  closeBreaker: {
    route: "POST /types/{type}/breaker/close",
    notes: ["body"],
    body: "BreakerCloseRequest",
    fields: { key: "The key whose breaker is closed. Default: those of all keys." },
    summary: "Close the breaker of a task type",
    description: [
      "Closes the breaker for the caller's tenant, or with `key` that of one key. An admin closes it for all tenants with `tenant=*`. The breaker counts failures from 0 again.",
      resumeText,
    ],
    answers: { 200: ["TypeBreaker", "The breaker, closed."] },
    problems: ["conflict"],
  },
  changeLimits: {
    route: "PATCH /types/{type}/limits",
    notes: ["body", "all"],
    summary: "Change the limits of a task type",
    description:
      "Changes the limits for all tenants, without a deployment. Every worker uses them after about three seconds. A limit that is left out stays as " +
      "it is; null restores the limit of the type's definition. If the definition has no limit, the new limit is shared by all tasks of the type, " +
      "of all tenants, and null removes it.",
    body: "LimitsChange",
    fields: {
      concurrency: "Attempts of one key that run at the same time. Null: as defined.",
      rate: "Starts of one key in a period. Null: as defined.",
    },
    parts: ({ shape }) => ({ RateChange: shape.rate.unwrap().unwrap() }),
    example: { concurrency: 5, rate: { limit: 100, per_seconds: 60 } },
    answers: { 200: ["TypeLimits", "The limits in force."] },
    problems: ["conflict"],
  },
  setKeyLimit: {
    route: "POST /types/{type}/limits/{key}",
    notes: ["body"],
    summary: "Set the limit of one key",
    description: [
      "Sets another limit for one key of the type's `concurrency` or `rateLimit`, for the caller's tenant. An operator may do so; an admin also for a limit " +
        "that tenants share. Every worker uses it after about three seconds, until `expires_in_seconds` are over, or it is removed. It replaces the earlier one of the key. " +
        "The key is percent-encoded. It may be one of which there are no tasks yet.",
      "A tenant's operators may set 50, an admin more, and all together 200 at the same time: every worker reads all of them.",
    ],
    body: "KeyLimitRequest",
    fields: {
      limit:
        "Attempts of the key at the same time, at most 10,000. With `per_seconds`, or where only the type's rate has a key: starts.",
      per_seconds: "The time of these starts. Default: that of the type's rate, if only that has a key.",
      expires_in_seconds: "The time after which the type's limit applies again. Default: never.",
    },
    example: { limit: 10, expires_in_seconds: 86_400 },
    answers: { 200: ["KeyLimit", "The limit of the key."] },
    problems: ["conflict"],
  },
  clearKeyLimit: {
    route: "DELETE /types/{type}/limits/{key}",
    summary: "Remove the limit of one key",
    description:
      "The limits of the type apply to the key again, in every worker after about three seconds. Repeatable.",
    answers: { 204: "The key has no limit of its own." },
  },
};
