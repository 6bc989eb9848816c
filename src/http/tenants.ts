import * as z from "zod";
import { countTenant, type TenantCounts } from "../core/control/count-tenant.ts";
import { byName } from "../core/extras/limits/view-flow.ts";
import { type AllLimits, type Limits, limitNames, limitsSchema, mergeLimits } from "../core/limits/limits.ts";
import type { LimitEditor } from "../core/limits/ports.ts";
import { expecting } from "../core/model/expected.ts";
import { parseInput } from "../core/model/invalid.ts";
import { tenantPattern } from "../core/model/keys.ts";
import { pauseName } from "../core/model/line.ts";
import { Problem } from "../core/model/problem.ts";
import type { FlowSettings, Pause } from "../core/ports/flow.ts";
import type { Clock, Records } from "../core/ports/tasks.ts";
import type { TenantList } from "../core/schedules/ports.ts";
import { type Call, type HandlersOf, identify } from "./api.ts";
import { jsonBody } from "./body.ts";
import type { Cursors } from "./cursor.ts";
import { pageParameters, queryOf } from "./query.ts";
import type { TenantInfo } from "./views.ts";

/** Query of `GET /tenants`. */
export const tenantListSchema = z.object(pageParameters);

const orUnset = <Schema extends z.ZodType>(schema: Schema) => z.union([z.literal("unset"), schema]).optional();

/** Body of a change of a tenant's limits. */
export const tenantLimitsSchema = z
  .strictObject({
    submits_per_second: orUnset(limitsSchema.shape.submits_per_second),
    burst: orUnset(limitsSchema.shape.burst),
    tasks_in_progress: orUnset(limitsSchema.shape.tasks_in_progress),
    request_bytes: orUnset(limitsSchema.shape.request_bytes),
    schedules: orUnset(limitsSchema.shape.schedules),
    open_upload_bytes: orUnset(limitsSchema.shape.open_upload_bytes),
  })
  .refine((body) => Object.keys(body).length > 0, { message: "expected at least one limit" })
  .meta({ minProperties: 1 });

export interface TenantReadPorts {
  clock: Clock;
  records: Records;
  tenants: TenantList;
  flowSettings: FlowSettings;
  cursors: Cursors;
}

/** The tenants of a page that are counted at the same time. */
const countedAtOnce = 10;

/** No further tenant is counted after this time, in milliseconds: the page ends there. */
const mostCountMs = 2_500;

/** Counts the tasks of a page's tenants, of as many as the time allows, but some at least. */
async function countedTenants(ports: TenantReadPorts, ids: readonly string[]): Promise<[string, TenantCounts][]> {
  const startMs = ports.clock.now();
  const counted: [string, TenantCounts][] = [];
  while (counted.length < ids.length && ports.clock.now() < startMs + mostCountMs) {
    const some = ids.slice(counted.length, counted.length + countedAtOnce);
    const counts = await Promise.all(some.map((id) => countTenant(ports, id, startMs + mostCountMs)));
    counted.push(...some.map((id, at): [string, TenantCounts] => [id, counts[at] as TenantCounts]));
  }
  return counted;
}

/** The handler that lists the tenants. */
export const tenantReads = (ports: TenantReadPorts) =>
  ({
    listTenants: async (call) => {
      const { tenants, flowSettings, cursors } = ports;
      // All tenants are listed whatever `tenant` is.
      const identity = identify(call, "admin", "all");
      const { limit, cursor } = queryOf(call, tenantListSchema);
      const scope = { identity, list: "tenants", filters: {} };
      const from = cursor === undefined ? undefined : cursors.read(scope, cursor);
      const [page, settings] = await Promise.all([tenants.list({ limit, from }), flowSettings.all()]);
      const counted = await countedTenants(ports, page.items);
      const next = counted.length < page.items.length ? counted.at(-1)?.[0] : page.next;
      const names = byName(settings);
      const pauseOf = (tenantId: string) => names.get(pauseName({ scope: "tenant", tenantId })) as Pause | undefined;
      call.header("cache-control", "no-store");
      return call.json({
        tenants: counted.map(
          ([id, counts]): TenantInfo => ({ tenant_id: id, paused_since: pauseOf(id)?.since ?? null, ...counts }),
        ),
        next_cursor: next === undefined ? null : cursors.write(scope, next),
      });
    },
  }) satisfies Partial<HandlersOf<"status">>;

export interface TenantLimitPorts {
  limits: LimitEditor;
  /** The deployment's own settings. */
  configuredLimits: AllLimits;
}

/** Handlers for the limits of a tenant. */
export const tenantLimits = (ports: TenantLimitPorts) =>
  ({
    readTenantLimits: async (call) => {
      const tenantId = tenantIn(call);
      return limitsAnswer(ports, call, tenantId, await ports.limits.ofTenant(tenantId));
    },
    changeTenantLimits: async (call) => {
      const tenantId = tenantIn(call);
      const read = async () => parseInput(tenantLimitsSchema, await jsonBody(call));
      const changes = await expecting(tenantLimitsSchema, read);
      return limitsAnswer(ports, call, tenantId, await ports.limits.change(tenantId, changes));
    },
  }) satisfies Partial<HandlersOf<"control">>;

function tenantIn(call: Call): string {
  identify(call, "admin");
  const tenantId = call.req.param("tenant_id") ?? "";
  if (!tenantPattern.test(tenantId)) throw new Problem("not_found", "No such tenant.");
  return tenantId;
}

async function limitsAnswer(
  { limits, configuredLimits }: TenantLimitPorts,
  call: Call,
  tenantId: string,
  own: Limits | undefined,
): Promise<Response> {
  const stored = await limits.ofDeployment();
  const { tenants, default: everyone } = configuredLimits;
  const configured = Object.hasOwn(tenants, tenantId) ? tenants[tenantId] : undefined;
  const inForce = mergeLimits(own, configured, stored?.default, everyone);
  call.header("cache-control", "no-store");
  return call.json({ tenant_id: tenantId, limits: own ?? {}, in_force: limitsView(inForce) });
}

/** Each limit; null: there is none. */
const limitsView = (limits: Limits) => Object.fromEntries(limitNames.map((name) => [name, limits[name] ?? null]));
