import type { Mutation } from "./mutation.ts";

/** Each breaks a promise of steps, sleeps, signals or checkpoints. */
export const stepMutations: readonly Mutation[] = [
  {
    name: "steps: a step goes on with its own result, although another attempt's is stored",
    file: "steps/attempt-steps.ts",
    find: "      return mustBeKept(keptIn(first), what) as T;",
    replace: "      return mustBeKept(keptIn({ ...first, ...(text !== undefined && { value: text }) }), what) as T;",
    theme: "late",
  },
  {
    name: "steps: a step's result is not stored",
    file: "steps/attempt-steps.ts",
    find: "      const first = await this.#add({",
    replace: "      const first = ((entry: StepEntry) => entry)({",
  },
  {
    name: "steps: a sleep ends at once",
    file: "steps/attempt-steps.ts",
    find: "      if (this.#ports.clock.now() < untilMs) await this.#wait({ untilMs });\n",
    replace: "",
  },
  {
    name: "steps: a sleep begins anew in each attempt",
    file: "steps/attempt-steps.ts",
    find: "      if (this.#ports.clock.now() < untilMs) await this.#wait({ untilMs });\n",
    replace:
      "      if (this.#ports.clock.now() < untilMs + ms - 1) await this.#wait({ untilMs: Date.parse(until) });\n",
  },
  {
    name: "steps: a wait times out before its time",
    file: "steps/attempt-steps.ts",
    find: "      if (this.#ports.clock.now() < untilMs) await this.#wait({ untilMs, signal: name });\n",
    replace: "",
  },
  {
    name: "steps: the time-out of a wait is not stored",
    file: "steps/attempt-steps.ts",
    find: 'return signalValue(await this.#add({ kind: "signal", name, timed_out: true }));',
    replace: "return undefined;",
  },
  {
    name: "steps: a first attempt does not read the signals that came before it",
    file: "steps/attempt-steps.ts",
    find: "if (attempts <= 1 && signals === 0) return new Map();",
    replace: "if (attempts <= 1 && signals >= 0) return new Map();",
  },
  {
    name: "steps: a checkpoint of an attempt that lost its lease replaces a later one",
    file: "steps/attempt-steps.ts",
    find: "const state = { attempt, order: this.#states, value, ...counts };",
    replace: "const state = { attempt: attempt && this.#ports.clock.now(), order: this.#states, value, ...counts };",
    theme: "late",
  },
  {
    name: "steps: the states of an attempt have no order",
    file: "steps/attempt-steps.ts",
    find: "const state = { attempt, order: this.#states, value, ...counts };",
    replace: "const state = { attempt, order: 1, value, ...counts };",
  },
  {
    name: "steps: the calls of aggregate are compared with the handler's",
    file: "steps/attempt-steps.ts",
    find: "aggregates ? record.round * roundOrders : 0",
    replace: "0",
  },
  {
    name: "steps: entries are not kept for longer",
    file: "steps/keep-entries.ts",
    find: "if (early.length > 0) await steps.keep(",
    replace: "if (early.length < 0) await steps.keep(",
  },
  {
    name: "steps: an attempt is suspended, although a signal came while it ran",
    file: "work/suspend.ts",
    find: '      ...(waitingFor?.kind === "signal" && { signals: sameAs(record.signals) }),\n',
    replace: "",
  },
  {
    name: "steps: the envelope of a task that waits for a signal is not saved",
    file: "work/suspend.ts",
    find: '  if (suspension.waitingFor?.kind === "signal") {\n',
    replace: "  if (suspension.dueAt < 0) {\n",
  },
  {
    name: "steps: a suspended attempt counts",
    file: "work/suspend.ts",
    find: "      attempts: record.attempts - 1,\n",
    replace: "",
  },
  {
    name: "steps: a suspended task has a lease",
    file: "work/suspend.ts",
    find: '    remove: ["lease_until", "lease_token"],\n',
    replace: "",
  },
  {
    name: "steps: a suspended task gets no message",
    file: "work/suspend.ts",
    find: "    await dispatch(ports, settled.record, envelope);\n",
    replace: "",
  },
  {
    name: "steps: a wish to cancel is passed over by a suspension",
    file: "work/suspend.ts",
    find: "      cancel_requested_at: { absent: true },\n",
    replace: "",
  },
  {
    name: "steps: a signal is announced before it is stored",
    file: "steps/signal.ts",
    find: 'const stored = await ports.steps.add(record, { kind: "signal", name, value }, newEntryPurgeAt(ports.clock, record));',
    replace: "const stored: { timed_out?: true; value: string } = { value };",
    also: {
      find: "      await wake(ports, current, changed.record);\n",
      replace:
        '      await wake(ports, current, changed.record);\n      await ports.steps.add(record, { kind: "signal", name, value }, newEntryPurgeAt(ports.clock, record));\n',
    },
  },
  {
    name: "steps: a signal does not send the message of the task that waits for it",
    file: "steps/signal.ts",
    find: "  await dispatch(ports, after, envelope);\n",
    replace: "",
  },
  {
    name: "steps: a signal makes the task due only where it was not due",
    file: "steps/signal.ts",
    find: "...(wakes && { due_at: now })",
    replace: "",
  },
  {
    name: "steps: a signal is stored for a task that has expired meanwhile",
    file: "steps/signal.ts",
    find: '      ...(status === "pending" && { start_by: { above: now, orAbsent: true } }),\n',
    replace: "",
    test: "test/core/steps/signals.test.ts",
  },
];
