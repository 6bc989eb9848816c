import type { WorkPorts } from "../../src/core/pipeline/work/work-message.ts";
import type { Invocation } from "./invocation.ts";
import type { World } from "./world.ts";

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
