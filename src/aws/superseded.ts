import { boundedCalls } from "./call-times.ts";
import { boundedTries } from "./http-handler.ts";
import { DescribeServicesCommand, ECSClient } from "./lean/client-ecs.ts";

/** The metadata of a container that ECS serves to it. */
interface OwnTask {
  readonly Cluster?: string;
  readonly ServiceName?: string;
  readonly Family?: string;
  readonly Revision?: string;
}

interface Service {
  readonly deployments?: readonly { readonly status?: string; readonly taskDefinition?: string }[];
}

/** The part of the client that is used. */
type Ecs = Pick<ECSClient, "send">;

/**
 * Returns a function that tells whether a deployment replaces this container: whether the newest deployment of its
 * service has another task definition. It may throw. Outside of ECS it returns false.
 */
export function supersededCheck(
  env: NodeJS.ProcessEnv = process.env,
  createClient: () => Ecs = () => boundedCalls(new ECSClient(boundedTries())),
): () => Promise<boolean> {
  const metadata = env.ECS_CONTAINER_METADATA_URI_V4;
  if (metadata === undefined || metadata === "") return async () => false;
  let own: Promise<OwnTask> | undefined;
  let ecs: Ecs | undefined;
  return async () => {
    own ??= ownTask(`${metadata}/task`);
    const {
      Cluster: cluster,
      ServiceName: service,
      Family,
      Revision,
    } = await own.catch((error: unknown) => {
      own = undefined;
      throw error;
    });
    if (service === undefined) return false;
    ecs ??= createClient();
    const answer = await ecs.send(new DescribeServicesCommand({ cluster, services: [service] }));
    const { services: [found] = [] } = answer as { services?: readonly Service[] };
    const newest = found?.deployments?.find(({ status }) => status === "PRIMARY")?.taskDefinition;
    return newest !== undefined && !newest.endsWith(`/${Family}:${Revision}`);
  };
}

async function ownTask(url: string): Promise<OwnTask> {
  const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
  if (!response.ok) throw new Error(`the metadata of the container: ${response.status}`);
  return (await response.json()) as OwnTask;
}
