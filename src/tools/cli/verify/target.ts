import type { VerifiedAccount } from "../../../aws/verified/verified-account.ts";
import { Admin, type Client, type ClientOptions } from "../../../client/index.ts";

/** A check needs this of a deployment or a caller: a probe type by its name, or one of the others. */
export type Need = `probe.${string}` | "sample" | "admin" | "account" | "deployed" | "tracing" | "containers" | "long";

/** Task type and input of the tasks that have to complete, and nothing else. */
export interface Sample {
  readonly type: string;
  readonly input: unknown;
}

/** The deployment that is verified, as the API and the account tell of it. */
export interface Target {
  readonly url: string;
  readonly version: string;
  readonly isLocal: boolean;
  /** The caller's role. */
  readonly role: string;
  readonly types: readonly string[];
  readonly sample: Sample | undefined;
  readonly account: VerifiedAccount | undefined;
  /** The checks that take hours are made, too. */
  readonly long: boolean;
}

/** The reason why a check that needs something cannot be made. Undefined: it is there. */
export function reasonWithout(target: Target, need: Need): string | undefined {
  switch (need) {
    case "sample":
      return target.sample === undefined ? `${noProbes}, or name a harmless type of yours with --type` : undefined;
    case "admin":
      return target.role === "admin" ? undefined : "the key has not the role admin";
    case "long":
      return target.long ? undefined : "takes two hours: give --long";
    case "deployed":
      return target.isLocal ? onlyDeployed : undefined;
    case "account":
    case "tracing":
    case "containers":
      return reasonOfAccount(target, need);
    default:
      return target.types.includes(need) ? undefined : noProbes;
  }
}

function reasonOfAccount({ isLocal, account }: Target, need: "account" | "tracing" | "containers") {
  if (isLocal) return onlyDeployed;
  if (account === undefined) return "needs AWS credentials: give --stack";
  if (need === "tracing" && !account.facts.isTraced) return "deployed without `tracing`";
  if (need === "containers" && account.facts.containers === undefined) return "deployed without `containers`";
  return undefined;
}

const onlyDeployed = "the local server plays no such service of AWS";
const noProbes =
  "the probe types are not registered: `npx offload verify --add-probes` adds them to tasks/, then deploy with `probes: true`";

interface Question extends Pick<Target, "sample" | "account" | "long"> {
  readonly client: Client;
  readonly connection: ClientOptions;
}

/**
 * Reads the facts about a deployment.
 * @throws ProblemError when the key is refused, or has not the role of an operator
 */
export async function readTarget({ client, connection, sample, account, long }: Question): Promise<Target> {
  const health: { version: string; dynamodb_url?: string } = await client.health();
  const { role } = await new Admin(connection).identity();
  // Only an operator can discard tasks that fail.
  await client.deadLetters.list().page({ limit: 1 });
  const types = (await client.types()).map(({ name }) => name);
  const probe = types.includes("probe.echo") ? { type: "probe.echo", input: { value: "verify" } } : undefined;
  return {
    ...{ url: connection.url, version: health.version, isLocal: health.dynamodb_url !== undefined },
    ...{ role, types, sample: sample ?? probe, account, long },
  };
}
