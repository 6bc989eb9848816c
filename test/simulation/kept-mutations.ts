import type { Mutation } from "./mutation.ts";

const beside = "test/core/send/keep-beside.test.ts";
const seams = "test/core/seams/seams.test.ts";

/** Each forgets to keep what is beside a record at one of the changes that keep the record for longer. */
export const keptMutations: readonly Mutation[] = [
  {
    name: "kept: nothing beside a task that is extended",
    file: "control/control.ts",
    find: "  await keepAllBeside(ports, record, purgeAt, needsNoMessage(ports, record) ? null : undefined);\n",
    replace: "",
  },
  {
    name: "kept: nothing beside a task that a rescue keeps in its line",
    file: "schedules/rescue.ts",
    find: "  await keepAllBeside(ports, record, purge_at);\n",
    replace: "",
  },
  {
    name: "kept: nothing beside a task that goes into a line",
    file: "flow/park.ts",
    find: "  await keepAllBeside(ports, { ...record, purge_at: 0 }, record.purge_at, stored);\n",
    replace: "",
  },
  {
    name: "kept: nothing beside a task that waits for a retry",
    file: "work/settle.ts",
    find: "    await keepBeside(ports, record, purgeAt);\n",
    replace: "",
  },
  {
    name: "kept: what is beside a task that waits for a retry, by the retention before an extension",
    file: "work/settle.ts",
    find: "    await keepBeside(ports, record, purgeAt);\n",
    replace: "    await keepBeside(ports, record, purgeAtOfWaiting(claimed, dueAt));\n",
    test: beside,
  },
  {
    name: "kept: a retry by the retention before an extension",
    file: "work/settle.ts",
    find: "    const purgeAt = purgeAtOfWaiting(record, dueAt);\n",
    replace: "    const purgeAt = purgeAtOfWaiting(claimed, dueAt);\n",
    test: seams,
  },
  {
    name: "kept: what is beside a task that sleeps, by the retention before an extension",
    file: "work/suspend.ts",
    find: "    const purgeAt = purgeAtOfWaiting(record, suspension.dueAt);\n",
    replace: "    const purgeAt = purgeAtOfWaiting(claimed, suspension.dueAt);\n",
    test: beside,
  },
  {
    name: "kept: nothing beside a task that waits for its children",
    file: "work/settle.ts",
    find: "  await keepBeside(ports, claimed, purgeAt);\n",
    replace: "",
    test: seams,
  },
  {
    name: "kept: nothing beside a dead letter",
    file: "end/bury.ts",
    find: "  await keepBeside(ports, record, kept.purge_at);\n",
    replace: "",
    test: beside,
  },
  {
    name: "kept: nothing beside a task that an operator retries",
    file: "control/control.ts",
    find: "  await keepAllBeside(ports, record, purgeAt, envelope);\n",
    replace: "",
  },
  {
    name: "kept: no key of a debounced task",
    file: "unique/replace-input.ts",
    find: "  await keepBeside(ports, record, purgeAt);\n",
    replace: "",
    test: beside,
  },
  {
    name: "kept: no task in a line that clients change again and again",
    file: "schedules/needs-rescue.ts",
    find: '  if (need === "look" && record.purge_at - leftInLineSeconds <= nowMs / 1000) return',
    replace: '  if (need === "look" && sinceMs + 3_456_000_000 <= nowMs) return',
    test: beside,
  },
  {
    name: "kept: a task in a line without its entry there",
    file: "control/control.ts",
    find: "  if (retainedUntil === undefined && record.line !== undefined) {\n",
    replace: '  if (retainedUntil === undefined && record.line === "") {\n',
    test: beside,
  },
  {
    name: "submit: a repeat sends a message of a task that an operator has retried",
    file: "submit/submit.ts",
    find: "existing.attempts_total === 0 && !wasSentLately",
    replace: "existing.attempts === 0 && !wasSentLately",
    test: seams,
  },
];
