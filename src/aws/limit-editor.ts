import type { DepthBounds, LimitChanges, Limits } from "../core/limits/limits.ts";
import type { LimitEditor } from "../core/limits/ports.ts";
import type { Item, Update } from "./dynamo-table.ts";
import { DynamoLimitStore } from "./limit-store.ts";
import { keys } from "./table.ts";

/** Limits in the table: the operations of operators. */
export class DynamoLimitEditor extends DynamoLimitStore implements LimitEditor {
  async setDefault(limits: Limits): Promise<void> {
    await this.#setOfDeployment("limits", limits);
  }

  async setDepth(depth: DepthBounds): Promise<void> {
    await this.#setOfDeployment("depth", depth);
  }

  /** Writes the tenant's limits first: once `overridden` is set, readers look for them. */
  async change(tenantId: string, changes: LimitChanges): Promise<Limits> {
    const limits = await this.#changeOf(tenantId, changes);
    await this.#setOfDeployment("overridden", true);
    return limits;
  }

  /**
   * DynamoDB changes members of an existing map only. A map without members sets no limit, so it may stay without the
   * change.
   */
  async #changeOf(tenantId: string, changes: LimitChanges): Promise<Limits> {
    const Key = keys.tenantLimits(tenantId);
    const change = () => this.table.updated(Key, changeExpression(changes));
    const changed = await change();
    if (changed !== undefined) return limitsIn(changed);
    await this.table.updateIf(Key, {
      UpdateExpression: "SET #limits = if_not_exists(#limits, :none)",
      ExpressionAttributeNames: { "#limits": "limits" },
      ExpressionAttributeValues: { ":none": {} },
    });
    return limitsIn(await change());
  }

  async #setOfDeployment(name: "limits" | "depth" | "overridden", value: Limits | DepthBounds | true): Promise<void> {
    await this.table.updateIf(keys.deploymentLimits(), {
      UpdateExpression: "SET #name = :value",
      ExpressionAttributeNames: { "#name": name },
      ExpressionAttributeValues: { ":value": value },
    });
  }
}

const limitsIn = (item: Item | undefined): Limits => (item?.limits ?? {}) as Limits;

/** Sets and removes single members of the map `limits`. */
function changeExpression(changes: LimitChanges): Update {
  const given = Object.entries(changes).filter(([, limit]) => limit !== undefined);
  const set = given.filter(([, limit]) => limit !== "unset");
  const removed = given.filter(([, limit]) => limit === "unset");
  const parts = [
    set.length > 0 && `SET ${set.map(([name]) => `#limits.#${name} = :${name}`).join(", ")}`,
    removed.length > 0 && `REMOVE ${removed.map(([name]) => `#limits.#${name}`).join(", ")}`,
  ];
  return {
    UpdateExpression: parts.filter(Boolean).join(" "),
    ConditionExpression: "attribute_exists(#limits)",
    ExpressionAttributeNames: {
      "#limits": "limits",
      ...Object.fromEntries(given.map(([name]) => [`#${name}`, name])),
    },
    ...(set.length > 0 && {
      ExpressionAttributeValues: Object.fromEntries(set.map(([name, limit]) => [`:${name}`, limit])),
    }),
  };
}
