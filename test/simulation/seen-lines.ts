import type { HeldPlace, LineState, WaitingTask } from "../../src/core/ports/flow.ts";
import { MemoryLines } from "../../src/memory/lines.ts";
import type { FlowLaws } from "./flow-laws.ts";

/** The line of a bucket of places. */
const lineOf = (bucket: string): string => bucket.replace(/^places\/\d+\//, "");

/** The lines of a world, with a witness of who goes first. */
export class SeenLines extends MemoryLines {
  readonly #laws: () => FlowLaws;
  /** Names of all lines that tasks ever waited in. */
  readonly names = new Set<string>();
  /** Names of the buckets of each line's places. */
  readonly #buckets = new Map<string, Set<string>>();

  constructor(laws: () => FlowLaws) {
    super();
    this.#laws = laws;
  }

  override async add(line: string, task: WaitingTask): Promise<void> {
    this.#laws().parks += 1;
    this.#laws().waits(line, task.envelope.task_id);
    this.#laws().parked(line, task.envelope);
    this.names.add(line);
    await super.add(line, task);
  }

  override async takePlaces(
    bucket: string,
    tasks: readonly string[],
    untilMs: number,
    limit: number,
  ): Promise<boolean> {
    const see = await this.#witness(bucket);
    const taken = await super.takePlaces(bucket, tasks, untilMs, limit);
    if (taken) see(tasks);
    return taken;
  }

  override async dropPlace(bucket: string, task: string, untilMs: number): Promise<LineState | undefined> {
    this.#laws().waits(lineOf(bucket), task);
    return super.dropPlace(bucket, task, untilMs);
  }

  override async passPlace(bucket: string, from: HeldPlace, to: HeldPlace, limit: number) {
    const see = await this.#witness(bucket);
    const state = await super.passPlace(bucket, from, to, limit);
    if (state !== undefined) see([to.task]);
    this.#laws().waits(lineOf(bucket), from.task);
    return state;
  }

  /** Sees who waits before tasks get places. */
  async #witness(bucket: string): Promise<(going: readonly string[]) => void> {
    const line = lineOf(bucket);
    const buckets = new Set([...(this.#buckets.get(line) ?? [line]), bucket]);
    this.#buckets.set(line, buckets);
    const [waiting, states] = await Promise.all([this.first(line, 1_000), this.states([...buckets])]);
    const ids = waiting.map(({ envelope }) => envelope.task_id);
    const placed = new Set(states.flatMap(({ places }) => [...places.keys()]));
    // Of several buckets, each takes one of the first sixteen tasks.
    return (going) => this.#laws().letGo(line, going, ids, { placed, atOnce: buckets.size === 1 ? 1 : 16 });
  }
}
