import type { Mutation } from "./mutation.ts";

/** Each breaks a promise of what a task's history holds, or of what finds a task that nothing wakes. */
export const historyMutations: readonly Mutation[] = [
  {
    name: "history: a retry leaves the task's message in the DLQ",
    file: "control/control.ts",
    in: "retry",
    find: '  if (record.status === "failed") await sweepBeforeNextRound(ports, record);\n',
    replace: "",
  },
  {
    name: "history: a stack leaves the record and is not stored",
    file: "pipeline/send/parts.ts",
    in: "historyBefore",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    find: "    await records.savePart(record, `stack#${round}#${number}`, stack, until);\n",
    replace: "",
  },
  {
    name: "history: an attempt loses the stack that the next one has, too",
    file: "pipeline/send/parts.ts",
    in: "historyBefore",
    find: "return { ...entry, stack_of: failed.number };",
    replace: "return entry;",
  },
  {
    name: "history: a child whose message an attempt did not send gets none when its parent waits",
    test: "test/core/extras/children/history.test.ts",
    file: "extras/children/child.ts",
    in: "rejoinChild",
    find: "lacksMessage || (family.round === 1 && mayLackMessage(child))",
    replace: "lacksMessage",
  },
  {
    name: "history: a parent waits for as long as any message lives for a child that never had one",
    test: "test/core/extras/children/history.test.ts",
    file: "schedules/reconcile.ts",
    in: "isLostChild",
    find: "  return visible + delayed + inFlight === 0;\n",
    replace: "  return visible + delayed + inFlight < 0;\n",
  },
  {
    name: "history: a rescue whose answer was lost does not do what follows",
    file: "schedules/reconcile.ts",
    in: "ended",
    find: "  if (record === undefined || !isTerminal(record.status)) return;\n",
    replace: "  if (!done) return;\n",
    test: "test/core/extras/children/history.test.ts",
  },
  {
    name: "history: a rescue that died leaves no mark",
    file: "schedules/reconcile.ts",
    find: "const reconciled = ({ nowMs }: Pass) => ({ rescued_at: iso(nowMs) });",
    replace: "const reconciled = (_: Pass) => ({});",
    test: "test/core/extras/children/history.test.ts",
  },
];
