import type { HeldPlace, LineState, WaitingTask } from "../../src/core/ports/flow.ts";
import { MemoryLines } from "../../src/memory/lines.ts";
import type { FlowLaws } from "./flow-laws.ts";

/** The lines of a world, with a witness of who goes first. */
export class SeenLines extends MemoryLines {
  readonly #laws: () => FlowLaws;
  /** Names of all lines that tasks ever waited in. */
  readonly names = new Set<string>();

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

  override async takePlaces(line: string, tasks: readonly string[], untilMs: number, limit: number): Promise<boolean> {
    const see = await this.#witness(line);
    const taken = await super.takePlaces(line, tasks, untilMs, limit);
    if (taken) see(tasks);
    return taken;
  }

  override async dropPlace(line: string, task: string, untilMs: number): Promise<LineState | undefined> {
    this.#laws().waits(line, task);
    return super.dropPlace(line, task, untilMs);
  }

  override async passPlace(line: string, from: HeldPlace, to: HeldPlace, limit: number) {
    const see = await this.#witness(line);
    const state = await super.passPlace(line, from, to, limit);
    if (state !== undefined) see([to.task]);
    this.#laws().waits(line, from.task);
    return state;
  }

  /** Sees who waits before tasks get places. */
  async #witness(line: string): Promise<(going: readonly string[]) => void> {
    const [waiting, { places }] = await Promise.all([this.first(line, 1_000), this.state(line)]);
    const ids = waiting.map(({ envelope }) => envelope.task_id);
    return (going) => this.#laws().letGo(line, going, ids, new Set(places.keys()));
  }
}
