import { rejoinChild, spawnChild, submitChild } from "../core/extras/children/child.ts";
import type { SubmitPorts } from "../core/pipeline/submit/submit-ports.ts";
import type { EndPorts } from "../core/ports/extra.ts";
import type { Queues } from "../core/ports/tasks.ts";
import { GatheredQueues, type SendsMany } from "./gathered-queues.ts";
import { lazySubmitUnique } from "./lazy-unique.ts";

export interface ChildrenPorts extends SubmitPorts, EndPorts {
  queues: Queues & SendsMany;
}

/** The ports by which handlers create tasks: children of a family, and others. */
export function childrenPorts(ports: ChildrenPorts) {
  const supersede: SubmitPorts["supersede"] = async (...given) =>
    (await import("../core/control/cancel-others.ts")).supersede(ports, ...given);
  const gathered = { ...ports, queues: new GatheredQueues(ports.queues) };
  return {
    submitChild: submitChild({ ...ports, submitUnique: lazySubmitUnique, supersede }),
    createChild: spawnChild(gathered),
    rejoinChild: rejoinChild(gathered),
  };
}
