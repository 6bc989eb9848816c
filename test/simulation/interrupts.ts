import type { Attempt } from "../../src/core/model/record.ts";
import type { WorkPorts } from "../../src/core/work/work-message.ts";
import type { Invocation } from "./invocation.ts";
import type { Claim, Lives, Watched } from "./lives.ts";
import type { Run } from "./runs.ts";
import type { World } from "./world.ts";

/** An attempt whose cancel `now` was asked for does no harm after this time, in milliseconds. */
const harmWithinMs = 10_000;

/** The end of an invocation's process on purpose. The event source kills it when it has its answer. */
export function interruptPortsFor(
  world: World,
  from: Invocation,
  clock: WorkPorts["clock"],
): Required<Pick<WorkPorts, "onStopping" | "isStopping" | "endProcess">> {
  const drain = new world.core.drain.Drain(clock);
  const { onStopping, isStopping } = drain;
  const endProcess = () => {
    from.interrupted = true;
    world.story.tell(world.time.now, from.name, () => "has to end, as an attempt does not stop");
    drain.now();
  };
  return { onStopping, isStopping, endProcess };
}

const isExcused = ({ process, troubledUntil }: Invocation, sinceMs: number): boolean =>
  process.stood || troubledUntil >= sinceMs;

/** Laws of the processes that a cancel `now` ends. */
export class InterruptLaws {
  readonly #watched: Watched;
  readonly #lives: Lives;

  constructor(watched: Watched, lives: Lives) {
    this.#watched = watched;
    this.#lives = lives;
  }

  /** A client asked for an end now: the handler has stopped in time, or its process is dead. */
  asked(run: Run | undefined, taskId: string): void {
    if (run === undefined || run.over) return;
    const { time } = this.#watched;
    const askedAt = time.now;
    time.after(harmWithinMs, () => {
      if (run.over || run.calls || !run.from.process.alive || isExcused(run.from, askedAt)) return;
      this.#lives.violated("its handler goes on 10 s after its cancel now", taskId);
    });
  }

  /** No handler starts in a process that is about to be ended. */
  started(from: Invocation, taskId: string): void {
    if (from.interrupted) this.#lives.violated(`its handler starts in ${from.name}, which has to end`, taskId);
  }

  /** An attempt beside the one that did not stop is given back, and counts as nothing. */
  ended(taskId: string, claim: Claim, { outcome }: Pick<Attempt, "outcome">): void {
    const { interrupted, answered } = claim.by;
    if (outcome !== "crashed" || !interrupted || !answered || !claim.known || isExcused(claim.by, 1)) return;
    this.#lives.violated(`it lost an attempt with ${claim.by.name}, which was ended for another one`, taskId);
  }
}
