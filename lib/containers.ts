import type { ContainerImage } from "aws-cdk-lib/aws-ecs";
import type { Catalog } from "../src/core/task/catalog.ts";
import type { NetworkOptions } from "./network.ts";
import { settingError } from "./setting-error.ts";

/** Container workers on Fargate, for task types with `runsOn: "container"`. */
export interface ContainerOptions extends NetworkOptions {
  /**
   * CPU units of a container: 256, 512, 1024, 2048, 4096, 8192 or 16384. 1024 are one CPU.
   * @default 1024
   */
  readonly cpu?: number;
  /**
   * Memory of a container in MiB, for all its attempts. Fargate offers only some sizes for each `cpu`; the error for
   * another one lists them.
   * @default 2048
   */
  readonly memoryMiB?: number;
  /**
   * Maximum number of containers, 0 to 500. 0: only the queues exist, for workers that you run yourself with
   * `npx offload work`.
   * @default 10
   */
  readonly maxTasks?: number;
  /**
   * Minimum number of containers, 0 to `maxTasks`. Each is charged while it waits for tasks.
   * @default 0
   */
  readonly minTasks?: number;
  /**
   * Number of attempts that a container runs at the same time, 1 to 1000. 1 for handlers that need the whole CPU, such
   * as video encoders.
   * @default 4
   */
  readonly concurrency?: number;
  /**
   * True to use Fargate Spot, for up to 70 % less. AWS may stop a container with two minutes' notice: its attempts then
   * have `drainSeconds` to end; an attempt that does not is given back, and counts as none. While AWS has no spare
   * capacity, tasks wait.
   * @default false
   */
  readonly spot?: boolean;
  /**
   * Seconds for which a container that is stopped waits for its attempts to end, before it gives them back: 0 to 110.
   * @default 30
   */
  readonly drainSeconds?: number;
  /**
   * Image with Node 24 for arm64, and with the programs that handlers start, such as ffmpeg. Its entry point is not
   * used.
   * @default - Node's own image, `node:24-slim`
   */
  readonly image?: ContainerImage;
}

/** Options with their defaults. */
export type Containers = Required<Omit<ContainerOptions, "image" | keyof NetworkOptions>> &
  Pick<ContainerOptions, "image" | keyof NetworkOptions>;

/** ECS kills a container this number of seconds after its stop signal. The maximum of Fargate. */
export const stopSeconds = 120;

/** Seconds that a container needs after its drain to give attempts back. */
const givingBackSeconds = 10;

interface Sizes {
  readonly least: number;
  readonly most: number;
  readonly step: number;
}

const gib = 1024;

/** Memory sizes of Fargate in MiB, by CPU units. */
const sizes: Readonly<Record<number, Sizes>> = {
  256: { least: 512, most: 2 * gib, step: 512 },
  512: { least: gib, most: 4 * gib, step: gib },
  1024: { least: 2 * gib, most: 8 * gib, step: gib },
  2048: { least: 4 * gib, most: 16 * gib, step: gib },
  4096: { least: 8 * gib, most: 30 * gib, step: gib },
  8192: { least: 16 * gib, most: 60 * gib, step: 4 * gib },
  16384: { least: 32 * gib, most: 120 * gib, step: 8 * gib },
};

/** With 256 CPU units Fargate has 0.5, 1 and 2 GB only. */
const isOffered = (cpu: number, memory: number): boolean => {
  const { least, most, step } = sizes[cpu] ?? { least: 0, most: 0, step: 1 };
  return memory >= least && memory <= most && memory % step === 0 && !(cpu === 256 && memory === 1536);
};

/**
 * Adds the defaults.
 * @throws TypeError that names an invalid option and the allowed values
 */
export function containersOf(options: ContainerOptions): Containers {
  const { cpu = 1024, maxTasks = 10, minTasks = 0, concurrency = 4, spot = false, drainSeconds = 30 } = options;
  const memoryMiB = options.memoryMiB ?? Math.max(2048, sizes[cpu]?.least ?? 0);
  const check = (name: keyof ContainerOptions, isGood: boolean, allowed: string) => {
    if (!isGood) throw settingError(`containers.${name} must be ${allowed}; got ${JSON.stringify(options[name])}`);
  };
  const within = (value: number, least: number, most: number) =>
    Number.isInteger(value) && value >= least && value <= most;
  check("cpu", sizes[cpu] !== undefined, `one of ${Object.keys(sizes).join(", ")}`);
  check("memoryMiB", isOffered(cpu, memoryMiB), memoryText(cpu));
  check("maxTasks", within(maxTasks, 0, 500), "a whole number from 0 to 500");
  check("minTasks", within(minTasks, 0, maxTasks), `a whole number from 0 to ${maxTasks}, the number of maxTasks`);
  check("concurrency", within(concurrency, 1, 1_000), "a whole number from 1 to 1000");
  const longestDrain = stopSeconds - givingBackSeconds;
  check("drainSeconds", within(drainSeconds, 0, longestDrain), `a whole number from 0 to ${longestDrain}`);
  const { image, vpc, vpcSubnets, securityGroups } = options;
  return {
    ...{ cpu, memoryMiB, maxTasks, minTasks, concurrency, spot, drainSeconds },
    ...(image !== undefined && { image }),
    ...(vpc !== undefined && { vpc }),
    ...(vpcSubnets !== undefined && { vpcSubnets }),
    ...(securityGroups !== undefined && { securityGroups }),
  };
}

function memoryText(cpu: number): string {
  const { least, most, step } = sizes[cpu] ?? { least: 0, most: 0, step: 0 };
  if (cpu === 256) return "512, 1024 or 2048 with containers.cpu 256";
  return `${least} to ${most} in steps of ${step} with containers.cpu ${cpu}`;
}

/** @throws TypeError for a task type that needs container workers, in a deployment without them */
export function checkContainerTypes(catalog: Catalog, containers: Containers | undefined): void {
  if (containers !== undefined) return;
  const types = catalog.filter(({ runs_on }) => runs_on === "container").map(({ name }) => name);
  if (types.length === 0) return;
  throw settingError(
    `${types.length === 1 ? "the task type" : "the task types"} ${types.join(", ")} ${types.length === 1 ? "has" : "have"} ` +
      'runsOn: "container", but this deployment has no container workers: set `containers: {}`',
  );
}
