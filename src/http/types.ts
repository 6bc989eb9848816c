import { limitWait } from "../core/extras/limits/limit-waits.ts";
import { byName, stoppedTenants, typeFlowView, waitingSince } from "../core/extras/limits/view-flow.ts";
import { pauseName } from "../core/model/line.ts";
import type { RunsOn } from "../core/model/runs-on.ts";
import type { FlowSetting, FlowSettings, Lines, Pause } from "../core/ports/flow.ts";
import type { KnownTypes } from "../core/submit/check-input.ts";
import type { CatalogEntry } from "../core/task/catalog.ts";
import { isForAll } from "../operations/act.ts";
import { type ApiPorts, type HandlersOf, identify } from "./api.ts";
import type { TypeView } from "./listed-views.ts";

/** The handler that lists the task types. */
export const typeReads = ({ types, flowSettings, lines }: TypePorts) =>
  ({
    listTypes: async (call) => {
      const identity = identify(call, "submitter", "all");
      const { tenantId } = identity;
      const all = await flowSettings.all();
      const settings = byName(all);
      const ofTenant = settings.get(pauseName({ scope: "tenant", tenantId })) as Pause | undefined;
      call.header("cache-control", "no-store");
      return call.json({
        types: await Promise.all(
          [...types.values()].map(async (type) => {
            const view = typeView(type, tenantId, settings);
            const ofAll = isForAll(identity);
            const [since, waits] = await Promise.all([
              waitingSince(lines, type.name, tenantId, settings),
              limitWait(lines, view, type.name, ofAll ? undefined : tenantId),
            ]);
            return {
              ...view,
              waiting_since: since,
              waits_for_limit: waits,
              ...(ofAll && { stopped_tenants: stoppedTenants(type.name, all) }),
            };
          }),
        ),
        tenant_paused_since: ofTenant?.since ?? null,
      });
    },
  }) satisfies Partial<HandlersOf<"control">>;

interface TypePorts extends ApiPorts {
  types: KnownTypes;
  flowSettings: FlowSettings;
  lines: Pick<Lines, "first" | "list" | "states">;
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
    input_schema: type.input_schema,
    output_schema: type.output_schema ?? null,
    ...typeFlowView(type, tenantId, settings),
  };
}
