import { type Deployment, type Deployments, deploymentSeconds, mostDeployments } from "../core/ports/deployments.ts";
import { type DynamoTable, eachReadable, type Item } from "./dynamo-table.ts";

/** The key of a deployment. It is not in `table.ts`: each function would load it at its start. */
export const deploymentKey = (at: string) => ({ pk: "deployments", sk: at });

/** The ends of deployments in DynamoDB: an item each. The TTL deletes them. */
export class DynamoDeployments implements Deployments {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  note({ deployed_at, version, rolled_back }: Deployment): Promise<void> {
    return this.#table.put({
      ...deploymentKey(deployed_at),
      version,
      ...(rolled_back && { rolled_back }),
      purge_at: Math.ceil(Date.parse(deployed_at) / 1000) + deploymentSeconds,
    });
  }

  async newest(): Promise<Deployment[]> {
    const { pk } = deploymentKey("");
    const { items } = await this.#table.page(
      {
        KeyConditionExpression: "pk = :pk",
        ExpressionAttributeValues: { ":pk": pk },
        ConsistentRead: false,
        ScanIndexForward: false,
        Limit: mostDeployments,
      },
      "any",
    );
    return eachReadable(items, deploymentOf);
  }
}

const deploymentOf = ({ sk, version, rolled_back }: Item): Deployment => ({
  deployed_at: String(sk),
  version: String(version),
  rolled_back: rolled_back === true,
});
