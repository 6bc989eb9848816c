import { type Deployment, type Deployments, deploymentSeconds, maxDeployments } from "../core/schedules/ports.ts";
import { type DynamoTable, eachReadable, type Item } from "./dynamo-table.ts";

/** The key of a deployment. It is not in `table.ts`: each function would load it at its start. */
export const deploymentKey = (at: string) => ({ pk: "deployments", sk: at });

const startKey = { pk: "deployment-start", sk: "deployment-start" };

/** The ends of deployments in DynamoDB: an item each. The TTL deletes them. */
export class DynamoDeployments implements Deployments {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  begin(at: string): Promise<void> {
    return this.#table.put({ ...startKey, at });
  }

  async begun(): Promise<string | undefined> {
    return (await this.#table.get(startKey))?.at as string | undefined;
  }

  note({ started_at, deployed_at, version, rolled_back }: Deployment): Promise<void> {
    return this.#table.put({
      ...deploymentKey(deployed_at),
      started_at,
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
        Limit: maxDeployments,
      },
      "any",
    );
    return eachReadable(items, deploymentOf);
  }
}

const deploymentOf = ({ sk, started_at = sk, version, rolled_back }: Item): Deployment => ({
  started_at: String(started_at),
  deployed_at: String(sk),
  version: String(version),
  rolled_back: rolled_back === true,
});
