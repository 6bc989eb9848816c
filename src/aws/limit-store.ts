import type { DepthBounds, Limits } from "../core/limits/limits.ts";
import type { LimitStore, StoredLimits } from "../core/limits/ports.ts";
import type { DynamoTable } from "./dynamo-table.ts";
import { keys } from "./table.ts";

/** Limits in the table: one item for the deployment, and one for each tenant with limits of its own. */
export class DynamoLimitStore implements LimitStore {
  protected readonly table: DynamoTable;

  constructor(table: DynamoTable) {
    this.table = table;
  }

  async ofDeployment(): Promise<StoredLimits | undefined> {
    const item = await this.table.get(keys.deploymentLimits(), "eventually");
    if (item === undefined) return undefined;
    return {
      default: (item.limits ?? {}) as Limits,
      depth: (item.depth ?? {}) as DepthBounds,
      overridden: item.overridden === true,
    };
  }

  async ofTenant(tenantId: string): Promise<Limits | undefined> {
    return (await this.table.get(keys.tenantLimits(tenantId), "eventually"))?.limits as Limits | undefined;
  }
}
