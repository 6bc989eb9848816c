import type { TaskRecord } from "../../src/core/model/record.ts";
import { inputIn } from "./breaker-laws.ts";
import type { Lives, Watched } from "./lives.ts";

/** A rate whose limit is a multiple of the size in its input. */
interface PacedRate {
  times: number;
  perSeconds: number;
}

/** The types with rates that are functions of the input, and their rates. */
export const pacedTypes = {
  paced: [{ times: 1, perSeconds: 10 }],
  pacedlist: [
    { times: 1, perSeconds: 10 },
    { times: 2, perSeconds: 60 },
  ],
} as const satisfies Record<string, readonly PacedRate[]>;

export type PacedType = keyof typeof pacedTypes;

const isPaced = (type: string): type is PacedType => Object.hasOwn(pacedTypes, type);

/** Two workers' clocks may differ by 800 ms, and a claim takes some time, in milliseconds. */
const slackMs = 2_000;

/** A worker may go on with an earlier limit for so long, as its process may stand still, in milliseconds. */
const knownMs = 60_000;

interface Size {
  size: number;
  /** When a worker looked for a start for an input with a later size. Absent: it is in force. */
  endedMs?: number;
}

/** The promises of rates that are functions of the input. */
export class PacedLaws {
  readonly #watched: Watched;
  readonly #lives: Lives;
  readonly #isPrompt: () => boolean;
  /** By type, tenant and key, in the order in which they are submitted. */
  readonly #sizes = new Map<string, Size[]>();
  readonly #starts = new Map<string, number[]>();

  constructor(watched: Watched, lives: Lives, isPrompt: () => boolean) {
    this.#watched = watched;
    this.#lives = lives;
    this.#isPrompt = isPrompt;
  }

  /** The next inputs of a key have this size, and no earlier ones had it. */
  sized(type: PacedType, tenantId: string, key: string, size: number): void {
    const name = `${type} ${tenantId} ${key}`;
    this.#sizes.set(name, [...(this.#sizes.get(name) ?? []), { size }]);
  }

  /** A worker has looked for a start for a task: no earlier size is in force any more. */
  entered({ type, tenant_id, task_id }: Pick<TaskRecord, "tenant_id" | "task_id" | "type">): void {
    if (!isPaced(type)) return;
    const { key, size } = this.#inputOf(task_id);
    const all = this.#sizes.get(`${type} ${tenant_id} ${key}`) ?? [];
    const index = all.findIndex((one) => one.size === size);
    for (const one of all.slice(0, Math.max(0, index))) one.endedMs ??= this.#watched.time.now;
  }

  /** No window of a rate has more starts than the largest limit that was in force in it. */
  started(type: string, taskId: string, tenantId: string): void {
    if (!isPaced(type)) return;
    const name = `${type} ${tenantId} ${this.#inputOf(taskId).key}`;
    const { now } = this.#watched.time;
    const starts = [...(this.#starts.get(name) ?? []), now];
    this.#starts.set(name, starts);
    if (!this.#isPrompt()) return;
    for (const { times, perSeconds } of pacedTypes[type]) {
      const fromMs = now - perSeconds * 1000 + slackMs;
      const within = starts.filter((at) => at > fromMs).length;
      const known = (this.#sizes.get(name) ?? []).filter(({ endedMs = now }) => endedMs + knownMs >= fromMs);
      const most = times * Math.max(...known.map(({ size }) => size));
      if (within > most)
        this.#lives.violated(
          `${within} tasks of one key start in ${perSeconds} s, and no input says ${within}`,
          taskId,
        );
    }
  }

  #inputOf(taskId: string) {
    return inputIn(this.#lives.life(taskId)?.input);
  }
}
