import * as z from "zod";
import { changeLimits, closeBreaker, type ManageFlowPorts, pause, resume } from "../core/extras/limits/manage-flow.ts";
import { byName, limitsView, pausedView, stoppedTenants, typeFlowView } from "../core/extras/limits/view-flow.ts";
import { expecting } from "../core/model/expected.ts";
import type { Identity } from "../core/model/identity.ts";
import { parseInput } from "../core/model/invalid.ts";
import { tenantPattern } from "../core/model/keys.ts";
import { type PauseTarget, pauseName } from "../core/model/line.ts";
import { Problem } from "../core/model/problem.ts";
import { type Tier, tiers } from "../core/model/tier.ts";
import type { FlowSettings, Pause } from "../core/ports/flow.ts";
import type { KnownTypes } from "../core/submit/check-input.ts";
import type { CatalogEntry } from "../core/task/catalog.ts";
import { longestPerSeconds, mostPlaces, mostStarts } from "../core/task/type-limits.ts";
import { isForAll } from "../operations/act.ts";
import { readNothing } from "./acts.ts";
import { type ApiPorts, type Call, type HandlersOf, identify } from "./api.ts";
import { jsonBody, optionalJsonBody } from "./body.ts";

/** Body of a pause or resume of a type. */
export const typePauseSchema = z.strictObject({ all: z.boolean().optional() });

/** A rate in a change of limits. */
export const rateSchema = z.strictObject({
  limit: z.int().min(1).max(mostStarts),
  per_seconds: z.int().min(1).max(longestPerSeconds),
});

/** Body of a change of limits. */
export const limitsChangeSchema = z
  .strictObject({
    concurrency: z.int().min(1).max(mostPlaces).nullable().optional(),
    rate: rateSchema.nullable().optional(),
  })
  .refine(({ concurrency, rate }) => concurrency !== undefined || rate !== undefined, {
    message: "expected concurrency or rate",
  })
  .meta({ minProperties: 1 });

/**
 * Tier in whose queue the check of a resumed line waits. An operator waits for it, and the backlog of `normal` is often
 * the reason of a pause.
 */
const checkTier: Tier = "high";

interface FlowRoutePorts extends ManageFlowPorts, ApiPorts {
  /** The types that clients may submit. */
  types: KnownTypes;
}

type Act = "pause" | "resume";

/** Handlers that pause and resume tiers, types and tenants, close breakers, and change the limits of types. */
export const flowWrites = (ports: FlowRoutePorts) =>
  ({
    pauseQueue: (call) => queueAnswer(ports, call, "pause"),
    resumeQueue: (call) => queueAnswer(ports, call, "resume"),
    pauseType: (call) => typeAnswer(ports, call, "pause"),
    resumeType: (call) => typeAnswer(ports, call, "resume"),
    pauseTenant: (call) => tenantAnswer(ports, call, "pause"),
    resumeTenant: (call) => tenantAnswer(ports, call, "resume"),
    closeBreaker: (call) => closeAnswer(ports, call),
    changeLimits: async (call) => {
      const { principal } = identify(call, "admin", "all");
      const type = typeIn(ports, call);
      const read = async () => parseInput(limitsChangeSchema, await jsonBody(call));
      const set = await changeLimits(ports, type, await expecting(limitsChangeSchema, read), principal);
      call.header("cache-control", "no-store");
      return call.json({ type: type.name, ...limitsView(type, set) });
    },
  }) satisfies Partial<HandlersOf<"control">>;

/** Returns the pause after the act. Undefined: there is none. */
async function act(ports: FlowRoutePorts, act: Act, target: PauseTarget, by: Identity): Promise<Pause | undefined> {
  if (act === "pause") return pause(ports, target, by.principal);
  await resume(ports, target, checkTier, by.principal);
  return undefined;
}

const stateOf = (made: Pause | undefined) => ({ paused: made !== undefined, since: made?.since ?? null });

async function queueAnswer(ports: FlowRoutePorts, call: Call, what: Act): Promise<Response> {
  const identity = identify(call, "admin", "all");
  const tier = tiers.find((known) => known === call.req.param("tier"));
  if (tier === undefined) throw new Problem("not_found", `No such queue. The queues are ${tiers.join(", ")}.`);
  await readNothing(call);
  const made = await act(ports, what, { scope: "tier", tier }, identity);
  call.header("cache-control", "no-store");
  return call.json({ tier, ...stateOf(made) });
}

/** A tenant that the caller may not name is answered as a tenant that cannot be. */
async function tenantAnswer(ports: FlowRoutePorts, call: Call, what: Act): Promise<Response> {
  const identity = identify(call, "operator");
  const tenantId = call.req.param("tenant_id") ?? "";
  const isOwn = tenantId === identity.tenantId;
  if (!isOwn && (identity.role !== "admin" || !tenantPattern.test(tenantId))) {
    throw new Problem("not_found", "No such tenant.");
  }
  await readNothing(call);
  const made = await act(ports, what, { scope: "tenant", tenantId }, identity);
  call.header("cache-control", "no-store");
  return call.json({ tenant_id: tenantId, ...stateOf(made) });
}

async function typeAnswer(ports: FlowRoutePorts, call: Call, what: Act): Promise<Response> {
  const identity = identify(call, "operator");
  const { name: type } = typeIn(ports, call);
  const read = async () => parseInput(typePauseSchema, await optionalJsonBody(call));
  const { all = false } = await expecting(typePauseSchema, read);
  if (all && identity.role !== "admin") {
    throw new Problem("forbidden", `Only an admin may ${what} a type for all tenants.`);
  }
  const ofTenant = { scope: "type", type, tenantId: identity.tenantId } as const;
  await act(ports, what, all ? { scope: "type", type } : ofTenant, identity);
  const pauses = [pauseName({ scope: "type", type }), pauseName(ofTenant)].map((name) => find(ports, name));
  const [forAll, forTenant] = await Promise.all(pauses);
  call.header("cache-control", "no-store");
  return call.json({ type, paused: pausedView(forAll, forTenant) });
}

/** An admin closes the open breakers of all tenants with `tenant=*`. */
async function closeAnswer(ports: FlowRoutePorts, call: Call): Promise<Response> {
  const identity = identify(call, "operator", "all");
  const type = typeIn(ports, call);
  if (type.breaker === undefined) throw new Problem("conflict", `The type ${type.name} is defined without a breaker.`);
  await readNothing(call);
  const tenantIds = isForAll(identity)
    ? stoppedTenants(type.name, await ports.flowSettings.all()).filter((one) => one.breaker_open_until !== null)
    : [{ tenant_id: identity.tenantId }];
  for (const { tenant_id: tenantId } of tenantIds)
    await closeBreaker(ports, { type: type.name, tenantId }, checkTier, identity.principal);
  const settings = byName(await ports.flowSettings.all());
  call.header("cache-control", "no-store");
  return call.json({ type: type.name, breaker: typeFlowView(type, identity.tenantId, settings).breaker });
}

const find = ({ flowSettings }: { flowSettings: FlowSettings }, name: string): Promise<Pause | undefined> =>
  flowSettings.find(name) as Promise<Pause | undefined>;

/** @throws Problem `not_found`, also for Offload's own types */
function typeIn({ types }: FlowRoutePorts, call: Call): CatalogEntry {
  const type = types.get(call.req.param("type") ?? "");
  if (type === undefined) throw new Problem("not_found", "No such task type. GET /types lists the task types.");
  return type;
}
