import type { Mutation } from "./mutation.ts";

/** Each breaks a promise of `onFailed`, `task.run`, `task.nextSignal` or of families that stop. */
export const jobMutations: readonly Mutation[] = [
  {
    name: "handlers: onFailed runs once a task, not once a round",
    file: "pipeline/end/on-failed-of.ts",
    find: "({ task_id, created_at, round }: TaskRecord)",
    replace: "({ task_id, created_at, parent_id: round }: TaskRecord)",
  },
  {
    name: "handlers: the end of a task does not start its onFailed",
    file: "extras/on-failed/index.ts",
    find: "ended: start, beforeRound: start }",
    replace: "beforeRound: start }",
  },
  {
    name: "handlers: a child of run has a key of its own in each attempt",
    file: "extras/children/runs.ts",
    in: "run",
    find: "const at = await this.#spawner.create(child, awaitedKey(call.name), () => this.#turn());",
    replace:
      "const at = await this.#spawner.create(child, awaitedKey(call.name + Math.min(2, record.attempts_total)), () => this.#turn());",
  },
  {
    name: "handlers: a signal that is sent again under its key counts twice",
    file: "extras/steps/send-numbered.ts",
    in: "sendNumbered",
    find: "if (there.key === key) return sameBody(there, value);",
    replace: "",
  },
  {
    name: "handlers: a read that timed out takes the signal that comes later",
    file: "extras/steps/late-waits.ts",
    in: "next",
    find: 'return bodyOf(await steps.add({ kind: "signal", name: item, timed_out: true }));',
    replace: "return undefined;",
  },
  {
    name: "handlers: each read takes the first signal",
    file: "extras/steps/late-waits.ts",
    in: "next",
    find: "numberedSignal(name, takenSignals(name, others) + number)",
    replace: "numberedSignal(name, takenSignals(name, others) + 1)",
  },
  {
    name: "handlers: a family stops with its first failure",
    file: "pipeline/end/stop-family.ts",
    in: "isLost",
    find: "total - failuresIn(node) < neededOf(parent, total)",
    replace: "failuresIn(node) > 0",
  },
];
