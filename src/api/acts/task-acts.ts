import * as z from "zod";
import { type AcknowledgePorts, acknowledge } from "../../core/control/acknowledge.ts";
import { type ControlPorts, cancel, extend, retry } from "../../core/control/control.ts";
import { checkGiven } from "../../core/control/given-input.ts";
import type { Changed } from "../../core/model/change.ts";
import type { TaskRecord } from "../../core/model/record.ts";
import type { EntryPorts } from "../../core/pipeline/send/keep-entries.ts";
import type { StepStore } from "../../core/ports/steps.ts";
import { on, type TextsOf } from "./act.ts";
import { changedTask, taskIn } from "./task.ts";

/* Acts on one task that programs often ask for. The function that answers them loads them at its start. */

type Ports = ControlPorts & EntryPorts & AcknowledgePorts & { steps: Pick<StepStore, "load" | "add" | "keep"> };

export const acts = () => {
  const onTask = on({ find: (ports: Ports, asked) => taskIn(ports, asked) });
  return {
    cancelTask: onTask({
      body: z.strictObject({ now: z.boolean().default(false) }),
      bodyOptional: true,
      // The end of a process interrupts the attempts of other callers, too.
      roleFor: ({ now }) => (now ? "operator" : "submitter"),
      run: async (ports, record, body) => {
        const cancelled = await cancel(ports, record, body);
        return changedTask(ports, cancelled, cancelled.status === "cancelled" ? 200 : 202);
      },
    }),
    runTaskNow: onTask({
      run: async (ports, record, _, { by }) => {
        // Few requests need it.
        const { runNow } = await import("../../core/control/run-now.ts");
        // A sleep is part of what the handler does: only operators end it.
        return changedTask(
          ports,
          await runNow(ports, record, by.role === "submitter" ? undefined : endSleep(ports)),
          202,
        );
      },
    }),
    retryTask: onTask({
      body: z.strictObject({ input: z.unknown().optional() }),
      bodyOptional: true,
      run: async (ports, record, body) => {
        const given = Object.hasOwn(body, "input") ? await checkGiven(ports.types, record, body.input) : undefined;
        await ports.countRequest?.(record.tenant_id);
        return changedTask(ports, await retry(ports, record, given), 202);
      },
    }),
    extendTask: onTask({
      body: z.strictObject({ retention_seconds: z.int().min(60).max(2_592_000) }),
      run: async (ports, record, { retention_seconds }) =>
        changedTask(ports, await extend(ports, record, retention_seconds), 200),
    }),
    acknowledgeTask: onTask({
      run: async (ports, record) => {
        await acknowledge(ports, record);
        return {};
      },
    }),
  };
};

const endSleep =
  (ports: Ports) =>
  async (record: TaskRecord): Promise<Changed> =>
    (await import("../../core/control/run-now.ts")).endSleep(ports, record);

export const texts: TextsOf<ReturnType<typeof acts>> = {
  cancelTask: {
    route: "POST /tasks/{task_id}/cancel",
    rows: "cancels",
    notes: ["body"],
    summary: "Cancel a task",
    description:
      "With `now` (operator), an attempt that has not stopped 5 seconds after the request is ended with its process. The other attempts in that process start again elsewhere, " +
      "and it does not count as one of theirs.",
    body: "Cancel",
    fields: { now: "True: an attempt that has not stopped 5 seconds after the request is ended with its process." },
    example: { now: true },
    answers: { 200: "The task is cancelled.", 202: "The attempt that is running still has to stop." },
    problems: ["conflict"],
  },
  runTaskNow: {
    route: "POST /tasks/{task_id}/run-now",
    summary: "Run a waiting task now",
    description:
      "A task that waits for a retry or for the end of a delay is due at once. An operator ends a sleep of the handler, too: of several at once the one that ends first. If the task also waits for a place, a rate or a pause, that wait continues. The problem " +
      "`not_waiting` means that the task runs, has ended or waits for something else.",
    answers: { 202: "The task is due." },
    problems: ["conflict", "not_waiting"],
  },
  retryTask: {
    route: "POST /tasks/{task_id}/retry",
    summary: "Retry a failed task",
    description:
      "The task starts a new round of attempts. With `input`, that round and later ones get the given input, which is checked as at a submit. If two retries are sent at once, one gets a `conflict`, " +
      "and its input is not used. The input of a task with stored steps, states, signals or children cannot change: `conflict`. A repeated request is a `conflict`, too: read the task first. Retries count toward the tenant's `submits_per_second`.",
    body: "Retry",
    fields: { input: "Input of the next round, in place of the one that the task failed with." },
    example: { input: { to: "ada@example.com" } },
    answers: { 202: "The task waits for its next attempt." },
    problems: ["conflict", "gone", "unknown_task_type", "rate_limited"],
  },
  extendTask: {
    route: "POST /tasks/{task_id}/extend",
    notes: ["body"],
    summary: "Keep a task for longer",
    description: "The task is kept for the given time from now on. The retention never becomes shorter.",
    body: "Extend",
    fields: { retention_seconds: "The record and the result are kept for at least this time from now on." },
    example: { retention_seconds: 1_209_600 },
    answers: { 200: "The task." },
    problems: ["conflict"],
    command: {
      name: "extend",
      description: "keep a task and its result for longer",
      takes: "--retention <seconds>",
      value: "keep it at least this long from now, 60 to 2592000",
      among: 2_592_000,
      call: "extend",
    },
  },
  acknowledgeTask: {
    route: "POST /tasks/{task_id}/acknowledge",
    rows: "acknowledgements",
    notes: ["silent"],
    summary: "Delete the result of a completed task",
    description:
      "For clients that have read the result. The task stays `completed`; its result is `gone` from then on. The request can be repeated.",
    answers: { 204: "The result is deleted." },
    problems: ["conflict"],
  },
};
