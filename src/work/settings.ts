import { optionalWholeNumber, type Read, tierList, wholeNumberOr } from "../settings/read-setting.ts";

/** Settings of a container worker, with their variables and parsers. */
const settings = {
  /** Number of attempts at the same time. */
  concurrency: { variable: "OFFLOAD_WORK_CONCURRENCY", read: wholeNumberOr(4, 1, 1_000) },
  /** Seconds for which a worker that must stop waits for its attempts, before it gives them back. */
  drainSeconds: { variable: "OFFLOAD_WORK_DRAIN_SECONDS", read: wholeNumberOr(30, 0, 43_200) },
  /** Tiers that it serves, separated by commas. Absent: all. */
  tiers: { variable: "OFFLOAD_WORK_TIERS", read: tierList },
  /** Port of the health answers. Absent: there are none. */
  healthPort: { variable: "OFFLOAD_WORK_HEALTH_PORT", read: optionalWholeNumber(0, 65_535) },
  /** Heap of each of its processes in MB. Absent: Node's default. */
  memoryMb: { variable: "OFFLOAD_WORK_MEMORY_MB", read: optionalWholeNumber(64, 1_048_576) },
} as const satisfies Record<string, { variable: `OFFLOAD_WORK_${string}`; read: Read<unknown> }>;

type Name = keyof typeof settings;
export type WorkSettings = { readonly [N in Name]: ReturnType<(typeof settings)[N]["read"]> };

/**
 * Reads the settings from environment variables.
 * @throws Error that names the first invalid variable
 */
export function workSettings(env: NodeJS.ProcessEnv): WorkSettings {
  const read = (name: Name) => {
    const { variable, read } = settings[name];
    try {
      return read(env[variable]);
    } catch (error) {
      throw new Error(`${variable}: ${(error as Error).message}`, { cause: error });
    }
  };
  return Object.fromEntries((Object.keys(settings) as Name[]).map((name) => [name, read(name)])) as WorkSettings;
}

/** Name of the variable of a setting. */
export const variableOf = (name: Name): string => settings[name].variable;

/** Flags of Node for a process with the bounded heap. */
export const memoryFlags = ({ memoryMb }: Pick<WorkSettings, "memoryMb">): string[] =>
  memoryMb === undefined ? [] : [`--max-old-space-size=${memoryMb}`];
