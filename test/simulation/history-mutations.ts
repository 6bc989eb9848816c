import type { Mutation } from "./mutation.ts";

/** Each breaks a promise of what a task's history holds, or of what finds a task that nothing wakes. */
export const historyMutations: readonly Mutation[] = [
  {
    name: "history: a retry leaves the task's message in the DLQ",
    file: "control/control.ts",
    find: '  if (record.status === "failed") await sweepBeforeNextRound(ports, record);\n',
    replace: "",
  },
];
