import { PutCommand, UpdateCommand } from "#aws-sdk/lib-dynamodb";
import type { DepthBounds, Limits } from "../core/limits/limits.ts";
import type { LimitEditor } from "../core/limits/ports.ts";
import { viaPort } from "./errors.ts";
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
  async setTenant(tenantId: string, limits: Limits): Promise<void> {
    const Item = { ...keys.tenantLimits(tenantId), limits };
    await viaPort(port, this.client.send(new PutCommand({ TableName: this.table, Item })));
    await this.#setOfDeployment("overridden", true);
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
