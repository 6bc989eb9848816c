import type { Mutation } from "./mutation.ts";

/** Ways to break places, rates, pauses and breakers. */
export const flowMutations: readonly Mutation[] = [
  {
    name: "flow: one task more than there are places is let go",
    file: "flow/let-go.ts",
    find: "if (!(await ports.lines.takePlaces(line.name, ids, untilMs, limit))) continue;",
    replace: "if (!(await ports.lines.takePlaces(line.name, ids, untilMs, limit + 1))) continue;",
    also: {
      find: "const free = Math.min(limit - places.size, mostTogether);",
      replace: "const free = Math.min(limit + 1 - places.size, mostTogether);",
    },
  },
  {
    name: "flow: a place does not outlast the renewal of its attempt's lease",
    file: "work/run-claimed.ts",
    find: "if (entered.place !== undefined) await keepPlace(ports, entered.place, record, type);",
    replace: "",
  },
  {
    name: "flow: a place ends before its attempt's lease",
    file: "flow/place-end.ts",
    find: "(leaseSeconds(timeoutSeconds) + placeMarginSeconds) * 1000",
    replace: "(leaseSeconds(timeoutSeconds) - placeMarginSeconds) * 1000",
  },
  {
    name: "flow: a task that waits is in no line",
    file: "flow/enter.ts",
    find: "  await ports.lines.add(line.name, waiting, record.purge_at);\n",
    replace: "",
  },
  {
    name: "flow: a task that a worker takes from its line has no spare message",
    file: "flow/let-go.ts",
    find: "    await queues.send({ tier, runsOn, envelope, delaySeconds, solo: false, redrives: 0, grant });",
    replace:
      "    if (!spare) await queues.send({ tier, runsOn, envelope, delaySeconds, solo: false, redrives: 0, grant });",
    theme: "flow",
  },
  {
    name: "flow: a task that comes late starts with those that come at that time",
    file: "flow/take-start.ts",
    find: "now - given <= pace.lateMs",
    replace: "now - given <= 1e12",
    test: "test/core/flow/rate.test.ts",
  },
  {
    name: "flow: two tasks of a rate get one start",
    test: "test/core/flow/rate.test.ts",
    file: "flow/let-go.ts",
    find: "slotMs: Math.ceil(slotMs + index * intervalMs)",
    replace: "slotMs: Math.ceil(slotMs)",
    theme: "flow",
  },
  {
    name: "flow: nobody looks at a line again",
    file: "flow/advance.ts",
    find: "  if (rest.nextMs === undefined) return;",
    replace: "  if (rest.nextMs !== undefined || rest.empty) return;",
  },
  {
    name: "flow: nobody counts what waits",
    file: "flow/advance.ts",
    find: "  if (checkId !== undefined && planned?.id === checkId) watchLine(ports, line, rest);\n",
    replace: "",
    theme: "flow",
  },
  {
    name: "flow: nobody looks at the line of a pause",
    file: "flow/let-go.ts",
    find: "  return { nextMs, empty: false, pausedMs: Date.parse(pause.since), open: isByItself };",
    replace: "  return { empty: false, pausedMs: nextMs };",
    theme: "flow",
  },
  {
    name: "flow: a check is not followed by another one",
    file: "flow/advance.ts",
    find: "if (planned?.id !== checkId && stands(planned, now) && planned.atMs <= rest.nextMs + soonMs) return;",
    replace: "if (planned !== undefined) return;",
  },
  {
    name: "flow: places of dead workers never end",
    file: "flow/let-go.ts",
    find: "const ended = [...places].filter(([, untilMs]) => untilMs <= now);",
    replace: "const ended = [...places].filter(([, untilMs]) => untilMs <= now - 1e12);",
    also: {
      find: "new Map([...places].filter(([, untilMs]) => untilMs > now));",
      replace: "new Map([...places].filter(([, untilMs]) => untilMs > now - 1e12));",
    },
  },
  {
    name: "flow: the last task of a line goes first",
    file: "flow/let-go.ts",
    find: "const going = next.slice(0, Math.max(0, free));",
    replace:
      "const going = (await ports.lines.first(line.name, 100)).filter((one) => !places.has(one.envelope.task_id)).slice(-1);",
  },
  {
    name: "flow: a worker does not heed pauses",
    file: "flow/enter.ts",
    find: "  if (line !== undefined) return {",
    replace: '  if (line?.kind === "breaker") return {',
  },
  {
    name: "flow: a breaker that is not among the settings that are read together stops nothing",
    test: "test/core/flow/flow-book.test.ts",
    file: "flow/flow-book.ts",
    find: "return breaker === undefined && !whole ? this.#breaker(name) : breaker;",
    replace: "return breaker;",
  },
  {
    name: "flow: a type that fails again after its resume goes on",
    test: "test/core/flow/pause.test.ts",
    file: "flow/guard.ts",
    find: "if (failures < guardFailures) return;",
    replace: "return;",
  },
  {
    name: "flow: a resume looks at its line before the pause is removed only",
    test: "test/core/flow/pause.test.ts",
    file: "flow/manage-flow.ts",
    find: "ports.clock.now() + settingsKnownMs);\n  await checkAfter(settingsKnownMs);",
    replace: "ports.clock.now() + settingsKnownMs);",
    also: { find: "await checkAfter(settingsKnownMs + spareMs);", replace: "await checkAfter(0);" },
  },
  {
    name: "flow: a task that is put into a line meanwhile is left there",
    file: "flow/enter.ts",
    find: "  // The line may have become free before the task was in it.\n  await advance(ports, line, { tier, added: waiting });",
    replace: "",
  },
  {
    name: "flow: a place is passed to a second task",
    test: "test/core/flow/places.test.ts",
    file: "flow/advance.ts",
    find: "  await sendAll(ports, line, [next], { held: true });\n  if (state.places",
    replace: "  await sendAll(ports, line, await ports.lines.first(line.name, 2), { held: true });\n  if (state.places",
  },
  {
    name: "flow: a place that is passed on plans no check",
    test: "test/core/flow/hand-over.test.ts",
    file: "flow/advance.ts",
    find: "  if (state.places.size < limit || !stands(state.check, ports.clock.now())) await advance(ports, line, { tier, state });",
    replace: "",
  },
  {
    name: "flow: tasks that are let go stay in their line",
    file: "flow/let-go.ts",
    find: "    await lines.remove(line.name, { id, createdAt, taskId: envelope.task_id });",
    replace: "",
  },
];
