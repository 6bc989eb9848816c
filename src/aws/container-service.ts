import type { Setting } from "../settings/config.ts";
import { DescribeServicesCommand, UpdateServiceCommand } from "./lean/client-ecs.ts";

/** The part of the client that is used. */
interface Ecs {
  send(command: DescribeServicesCommand | UpdateServiceCommand): Promise<Record<string, unknown>>;
}

/**
 * Starts the first container of a service. A service that has or expects any container is left to its scaling.
 * @returns True when it started one
 * @throws Error when the service does not exist; AwsError when ECS refused a call
 */
export async function startFirstContainer(
  ecs: Ecs,
  { cluster, service }: Setting<"containerService">,
): Promise<boolean> {
  const { services = [] } = (await ecs.send(new DescribeServicesCommand({ cluster, services: [service] }))) as {
    services?: { status?: string; desiredCount?: number }[];
  };
  const found = services.find(({ status }) => status === "ACTIVE");
  if (found === undefined) throw new Error(`ECS has no active service ${service} in the cluster ${cluster}`);
  if (found.desiredCount !== 0) return false;
  await ecs.send(new UpdateServiceCommand({ cluster, service, desiredCount: 1 }));
  return true;
}
