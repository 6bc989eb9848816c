import * as z from "zod";
import { type ManageFlowPorts, pause, resume } from "../../core/extras/limits/manage-flow.ts";
import { type AllLimits, type Limits, limitNames, mergeLimits } from "../../core/limits/limits.ts";
import { limitsSchema } from "../../core/limits/parse-limits.ts";
import type { LimitEditor } from "../../core/limits/ports.ts";
import { tenantPattern } from "../../core/model/keys.ts";
import { Problem } from "../../core/model/problem.ts";
import { type Asked, on, type TextsOf } from "./act.ts";
import { checkTier, pausedSince, pauseText, resumeText } from "./pausing.ts";
import type { TenantLimits } from "./views.ts";

export interface TenantLimitPorts {
  limits: LimitEditor;
  /** The deployment's own settings. */
  configuredLimits: AllLimits;
}

type Ports = ManageFlowPorts & TenantLimitPorts;

export const acts = () => {
  const onOwn = on<Ports, string>({ role: "operator", find: ownIn });
  const onAny = on<Ports, string>({ role: "admin", find: tenantIn });
  return {
    pauseTenant: onOwn({
      run: async (ports, tenant_id, _, { by }) => {
        const made = await pause(ports, { scope: "tenant", tenantId: tenant_id }, by.principal);
        return { json: { tenant_id, ...pausedSince(made) } };
      },
    }),
    resumeTenant: onOwn({
      run: async (ports, tenant_id, _, { by }) => {
        await resume(ports, { scope: "tenant", tenantId: tenant_id }, checkTier, by.principal);
        return { json: { tenant_id, ...pausedSince(undefined) } };
      },
    }),
    readTenantLimits: onAny({
      run: async (ports, tenantId) => ({
        json: await limitsView(ports, tenantId, await ports.limits.ofTenant(tenantId)),
      }),
    }),
    changeTenantLimits: onAny({
      body: changeOfLimits(),
      run: async (ports, tenantId, changes) => ({
        json: await limitsView(ports, tenantId, await ports.limits.change(tenantId, changes)),
      }),
    }),
  };
};

function changeOfLimits() {
  const { shape } = limitsSchema;
  const orUnset = <Schema extends z.ZodType>(schema: Schema) => z.union([z.literal("unset"), schema]).optional();
  return z
    .strictObject({
      submits_per_second: orUnset(shape.submits_per_second),
      burst: orUnset(shape.burst),
      tasks_in_progress: orUnset(shape.tasks_in_progress),
      request_bytes: orUnset(shape.request_bytes),
      schedules: orUnset(shape.schedules),
      open_upload_bytes: orUnset(shape.open_upload_bytes),
    })
    .refine((body) => Object.keys(body).length > 0, { message: "expected at least one limit" })
    .meta({ minProperties: 1 });
}

function tenantIn(_: unknown, { params: { tenant_id: tenantId = "" } }: Asked): string {
  if (tenantPattern.test(tenantId)) return tenantId;
  throw new Problem("not_found", "No such tenant.");
}

/** A tenant that the caller may not name is answered as a tenant that cannot be. */
const ownIn = (ports: unknown, asked: Asked): string => {
  const { by, params } = asked;
  if (params.tenant_id === by.tenantId) return by.tenantId;
  return tenantIn(ports, by.role === "admin" ? asked : { ...asked, params: {} });
};

async function limitsView(ports: Ports, tenantId: string, own: Limits | undefined): Promise<TenantLimits> {
  const stored = await ports.limits.ofDeployment();
  const { tenants, default: everyone } = ports.configuredLimits;
  const configured = Object.hasOwn(tenants, tenantId) ? tenants[tenantId] : undefined;
  const inForce = mergeLimits(own, configured, stored?.default, everyone);
  const in_force = Object.fromEntries(limitNames.map((name) => [name, inForce[name] ?? null]));
  return { tenant_id: tenantId, limits: { ...own } as TenantLimits["limits"], in_force };
}

export const texts: TextsOf<ReturnType<typeof acts>> = {
  pauseTenant: {
    route: "POST /tenants/{tenant_id}/pause",
    tag: "flow",
    summary: "Pause a tenant",
    description: ["Pauses all tasks of the tenant. Only an admin may name another tenant than its own.", pauseText],
    answers: { 200: ["TenantPause", "The tenant is paused."] },
  },
  resumeTenant: {
    route: "POST /tenants/{tenant_id}/resume",
    tag: "flow",
    summary: "Resume a tenant",
    description: ["Pauses of types and tiers stay. Only an admin may name another tenant than its own.", resumeText],
    answers: { 200: ["TenantPause", "The tenant is not paused."] },
  },
  readTenantLimits: {
    route: "GET /tenants/{tenant_id}/limits",
    summary: "Read the limits of a tenant",
    answers: { 200: ["TenantLimits", "The limits."] },
  },
  changeTenantLimits: {
    route: "PATCH /tenants/{tenant_id}/limits",
    notes: ["body"],
    summary: "Change the limits of a tenant",
    description:
      "A limit that is left out stays as it is. Null removes the limit, and `unset` restores the deployment's default. A change applies within ten seconds.",
    body: "TenantLimitsChange",
    example: { submits_per_second: 20, burst: 40, tasks_in_progress: "unset" },
    answers: { 200: ["TenantLimits", "The limits after the change."] },
  },
};
