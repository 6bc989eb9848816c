import type { WaitingTask } from "../../src/core/flow/ports.ts";
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
    this.names.add(line);
    await super.add(line, task);
  }

  override async takePlaces(line: string, tasks: readonly string[], untilMs: number, limit: number): Promise<boolean> {
    const [waiting, { places }] = await Promise.all([this.first(line, 1_000), this.state(line)]);
    const taken = await super.takePlaces(line, tasks, untilMs, limit);
    const ids = waiting.map(({ envelope }) => envelope.task_id);
    if (taken) this.#laws().letGo(line, tasks, ids, new Set(places.keys()));
    return taken;
  }
}
