import { type DynamoDBDocumentClient, GetCommand } from "#aws-sdk/lib-dynamodb";
import type { DepthBounds, Limits } from "../core/limits/limits.ts";
import type { LimitStore, StoredLimits } from "../core/limits/ports.ts";
import { viaPort } from "./errors.ts";
import { keys } from "./table.ts";

const port = "the table";

/** Limits in the table: one item for the deployment, and one for each tenant with limits of its own. */
export class DynamoLimitStore implements LimitStore {
  protected readonly client: DynamoDBDocumentClient;
  protected readonly table: string;

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.client = client;
    this.table = table;
  }

  async ofDeployment(): Promise<StoredLimits | undefined> {
    const item = await this.#read(keys.deploymentLimits());
    if (item === undefined) return undefined;
    return {
      default: (item.limits ?? {}) as Limits,
      depth: (item.depth ?? {}) as DepthBounds,
      overridden: item.overridden === true,
    };
  }

  async ofTenant(tenantId: string): Promise<Limits | undefined> {
    return (await this.#read(keys.tenantLimits(tenantId)))?.limits as Limits | undefined;
  }

  async #read(Key: Record<string, string>): Promise<Record<string, unknown> | undefined> {
    const command = new GetCommand({ TableName: this.table, Key });
    return (await viaPort(port, this.client.send(command))).Item;
  }
}
