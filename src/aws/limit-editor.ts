import { UpdateCommand, type UpdateCommandInput, type UpdateCommandOutput } from "#aws-sdk/lib-dynamodb";
import type { DepthBounds, LimitChanges, Limits } from "../core/limits/limits.ts";
import type { LimitEditor } from "../core/limits/ports.ts";
import { ifConditionHolds, viaPort } from "./errors.ts";
import { DynamoLimitStore } from "./limit-store.ts";
import { keys } from "./table.ts";

const port = "the table";

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

  /** DynamoDB changes members of an existing map only. One without members sets no limit, so it may stay without the change. */
  async #changeOf(tenantId: string, changes: LimitChanges): Promise<Limits> {
    const Key = keys.tenantLimits(tenantId);
    const change = new UpdateCommand({ TableName: this.table, Key, ...changeExpression(changes) });
    const changed = await ifConditionHolds(port, this.client.send(change));
    if (changed !== undefined) return limitsIn(changed);
    const create = new UpdateCommand({
      TableName: this.table,
      Key,
      UpdateExpression: "SET #limits = if_not_exists(#limits, :none)",
      ExpressionAttributeNames: { "#limits": "limits" },
      ExpressionAttributeValues: { ":none": {} },
    });
    await viaPort(port, this.client.send(create));
    return limitsIn(await viaPort(port, this.client.send(change)));
  }

  async #setOfDeployment(name: "limits" | "depth" | "overridden", value: Limits | DepthBounds | true): Promise<void> {
    const command = new UpdateCommand({
      TableName: this.table,
      Key: keys.deploymentLimits(),
      UpdateExpression: "SET #name = :value",
      ExpressionAttributeNames: { "#name": name },
      ExpressionAttributeValues: { ":value": value },
    });
    await viaPort(port, this.client.send(command));
  }
}

const limitsIn = ({ Attributes }: UpdateCommandOutput): Limits => (Attributes?.limits ?? {}) as Limits;

/** Sets and removes single members of the map `limits`. */
function changeExpression(changes: LimitChanges): Omit<UpdateCommandInput, "TableName" | "Key"> {
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
    ReturnValues: "ALL_NEW",
  };
}
