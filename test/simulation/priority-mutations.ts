import type { Mutation } from "./mutation.ts";

/** Each breaks a promise of moves to another tier. */
export const priorityMutations: readonly Mutation[] = [
  {
    name: "priority: a worker of the old tier drops the message of a task that was moved",
    file: "work/claim.ts",
    find: "  await dispatch(ports, record, await newestKept(ports, record, envelope), delivery.redrives);\n  ports.log.info(",
    replace: "  if (delivery.redrives < 0) await dispatch(ports, record, envelope);\n  ports.log.info(",
  },
  {
    name: "priority: a worker of the old tier starts a task that was moved",
    file: "task/task-message.ts",
    find: "  priority: { is: delivery.tier },\n",
    replace: "",
  },
  {
    name: "priority: control sends the message to the old tier",
    file: "control/change-priority.ts",
    find: "    await sendAgain(ports, current);\n",
    replace: "    await sendAgain(ports, { ...current, priority: record.priority });\n",
  },
  {
    name: "priority: a repeated move does not send again",
    file: "control/change-priority.ts",
    find: "    await sendAgain(ports, current);\n",
    replace: "    if (changed.done) await sendAgain(ports, current);\n",
  },
  {
    name: "priority: a task moves while it runs",
    file: "control/change-priority.ts",
    find: '        status: { is: "pending" },\n',
    replace: "",
  },
  {
    name: "priority: an expired task moves",
    file: "control/change-priority.ts",
    find: "        start_by: { above: iso(nowMs), orAbsent: true },\n",
    replace: "",
  },
  {
    name: "priority: the new message has no input",
    file: "send/kept-input.ts",
    find: "{ ...frame, ...(JSON.parse(text)",
    replace: "{ ...frame, input: null, ...({}",
  },
  {
    name: "priority: a running task keeps its input in the record",
    file: "work/claim.ts",
    find: '    remove: ["start_by", "progress", "waiting_for", "line", "kept_input", "retrying_in", ...noBucket],',
    replace: '    remove: ["start_by", "progress", "waiting_for", "line"],',
  },
  {
    name: "retries: a running task counts as one that waits for its next attempt",
    file: "work/claim.ts",
    find: '    remove: ["start_by", "progress", "waiting_for", "line", "kept_input", "retrying_in", ...noBucket],',
    replace: '    remove: ["start_by", "progress", "waiting_for", "line", "kept_input"],',
  },
  {
    name: "retries: a task that is moved counts in its old tier",
    file: "control/change-priority.ts",
    find: "...(retrying && { retrying_in: priority }) },",
    replace: "},",
  },
  {
    name: "priority: a task that is moved out of a paused tier stays in its line",
    file: "control/change-priority.ts",
    find: "  const envelope = keptEnvelope(ports, record) ?? waiting?.envelope ??",
    replace: "  const envelope = keptEnvelope(ports, record) ??",
    theme: "flow",
  },
  {
    name: "priority: a task that was put off for long stays in the line of its paused tier when it is moved",
    file: "control/change-priority.ts",
    find: "  if (isLong && !inPause(record)) return;",
    replace: "  if (isLong) return;",
    test: "test/core/control/change-priority.test.ts",
  },
  {
    name: "priority: a task that is moved before it is in the line of its paused tier stays in it",
    file: "flow/park.ts",
    find: "  if (isOfTier(line)) await followMove(ports, line, record, waiting);\n",
    replace: "",
    test: "test/core/control/change-priority.test.ts",
  },
  {
    name: "priority: a cancelled task keeps its input in the record",
    file: "control/control.ts",
    find: '    remove: ["start_by", "kept_input", "retrying_in"],',
    replace: '    remove: ["start_by"],',
  },
];
