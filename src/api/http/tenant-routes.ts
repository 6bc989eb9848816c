import * as z from "zod";
import { countTenant, type TenantCounts } from "../../core/control/list.ts";
import { byName } from "../../core/extras/limits/view-flow.ts";
import { pauseName } from "../../core/model/wait-queue.ts";
import type { FlowSettings, Pause } from "../../core/ports/flow.ts";
import type { Clock, KeyStore, Records } from "../../core/ports/tasks.ts";
import type { TenantList } from "../../core/schedules/ports.ts";
import { keyView } from "../acts/key-view.ts";
import type { TenantInfo } from "../acts/views.ts";
import { type HandlersOf, identify } from "./api.ts";
import { type Cursors, pageAnswer } from "./cursor.ts";
import { pageParameters, queryOf } from "./query.ts";

/** Query of `GET /tenants`. */
export const tenantListSchema = z.object(pageParameters);

export interface TenantReadPorts {
  clock: Clock;
  records: Records;
  tenants: TenantList;
  flowSettings: FlowSettings;
  keys: KeyStore;
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

/** The handlers that list the tenants, and the keys of one. */
export const tenantReads = (ports: TenantReadPorts) =>
  ({
    listKeys: async (call) => {
      const { tenantId } = identify(call, "admin");
      return call.unstored({ keys: (await ports.keys.list(tenantId)).map(keyView) });
    },
    listTenants: async (call) => {
      const { tenants, flowSettings } = ports;
      // All tenants are listed whatever `tenant` is.
      const identity = identify(call, "admin", "all");
      const { limit, cursor } = queryOf(call, tenantListSchema);
      return pageAnswer(ports, call, { identity, list: "tenants", cursor }, async (from) => {
        const [page, settings] = await Promise.all([tenants.list({ limit, from }), flowSettings.all()]);
        const counted = await countedTenants(ports, page.items);
        const next = counted.length < page.items.length ? counted.at(-1)?.[0] : page.next;
        const names = byName(settings);
        const pauseOf = (tenantId: string) => names.get(pauseName({ scope: "tenant", tenantId })) as Pause | undefined;
        const infos = counted.map(
          ([id, counts]): TenantInfo => ({ tenant_id: id, paused_since: pauseOf(id)?.since ?? null, ...counts }),
        );
        return { items: { tenants: infos }, next };
      });
    },
  }) satisfies Partial<HandlersOf<"status">>;
