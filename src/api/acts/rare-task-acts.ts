import * as z from "zod";
import { changeInput, changePriority, type MovePorts, reschedule } from "../../core/control/change-waiting.ts";
import type { ControlPorts } from "../../core/control/control.ts";
import { checkGiven } from "../../core/control/given-input.ts";
import { inputOf, stepsOf } from "../../core/control/stored-parts.ts";
import { PermanentError } from "../../core/model/errors.ts";
import { Problem } from "../../core/model/problem.ts";
import type { TaskRecord } from "../../core/model/record.ts";
import { tiers } from "../../core/model/words.ts";
import { maxTriesBefore, type RedeliverPorts, redeliver } from "../../core/notify/deliver.ts";
import { targetOf } from "../../core/notify/receivers.ts";
import type { ViewPorts } from "../../core/pipeline/end/view.ts";
import type { EntryPorts } from "../../core/pipeline/send/keep-entries.ts";
import { submitFields } from "../../core/pipeline/submit/submit-body.ts";
import type { Blobs } from "../../core/ports/blob.ts";
import type { StepStore } from "../../core/ports/steps.ts";
import type { Deliveries, Receivers } from "../../core/ports/webhooks.ts";
import { on, type TextsOf } from "./act.ts";
import { changedTask, mustSeeInputs, taskIn } from "./task.ts";

/* Acts on one task that few programs ask for, and reads of what is stored beside it. They are loaded when needed. */

type Ports = ControlPorts &
  EntryPorts &
  MovePorts &
  ViewPorts &
  RedeliverPorts & {
    blobs: Blobs;
    steps: StepStore;
    deliveries: Deliveries;
    receivers: Pick<Receivers, "get">;
  };

/** The new start of a task: exactly one of the two. */
const { delay_seconds, run_at } = submitFields;
const startSchema = z
  .strictObject({ delay_seconds, run_at })
  .refine((body) => (body.delay_seconds === undefined) !== (body.run_at === undefined), {
    message: "expected either delay_seconds or run_at",
  });

export const acts = () => {
  const onTask = on({ find: (ports: Ports, asked) => taskIn(ports, asked) });
  return {
    changeTaskPriority: onTask({
      body: z.strictObject({ priority: z.enum(tiers) }),
      run: async (ports, record, { priority }) =>
        changedTask(ports, await changePriority(ports, record, priority), 200),
    }),
    rescheduleTask: onTask({
      body: startSchema,
      run: async (ports, record, body, { by }) => {
        await ports.countRequest?.(record.tenant_id);
        const dueMs = body.run_at ?? ports.clock.now() + (body.delay_seconds ?? 0) * 1000;
        return changedTask(ports, await reschedule(ports, record, dueMs, by.role !== "submitter"), 202);
      },
    }),
    redeliverTask: onTask({
      run: async (ports, record) => {
        const webhook_id = await deliverAgain(ports, record);
        return { status: 202, headers: {}, json: { task_id: record.task_id, webhook_id } };
      },
    }),
    listSteps: onTask({
      role: "viewer",
      run: async (ports, record) => ({ json: { steps: await stepsOf(ports, record, isSensitive(ports, record)) } }),
    }),
    changeTaskInput: onTask({
      role: "operator",
      body: z.strictObject({ input: z.unknown() }).refine((body) => Object.hasOwn(body, "input"), {
        path: ["input"],
        message: "expected the task's new input",
      }),
      run: async (ports, record, { input }) =>
        changedTask(ports, await changeInput(ports, record, await checkGiven(ports.types, record, input)), 200),
    }),
    readInput: onTask({
      find: (ports, asked) => {
        mustSeeInputs(asked.by);
        return taskIn(ports, asked);
      },
      run: async (ports, record, _, { by }) => ({ json: await keptInput(ports, record, by.role === "submitter") }),
    }),
  };
};

/** Sends the newest webhook of a task again, and returns its id. */
async function deliverAgain(ports: Ports, record: TaskRecord): Promise<string> {
  const delivery = (await ports.deliveries.ofTask(record)).at(-1);
  if (delivery === undefined) throw new Problem("conflict", "The task has no webhook that was tried.");
  if (delivery.tries.length >= maxTriesBefore) {
    throw new Problem("conflict", `The webhook was tried ${delivery.tries.length} times, which is the maximum.`);
  }
  const target = await targetOf(ports, delivery);
  if ("error" in target) throw new Problem("conflict", `The webhook cannot be sent again: ${target.error}.`);
  await ports.countRequest?.(record.tenant_id);
  await redeliver(ports, delivery);
  return delivery.id;
}

/**
 * Inputs of a sensitive type are shown to operators, and only those that they see among the dead letters. A type that
 * is gone may have been one.
 */
async function keptInput(ports: Ports, record: TaskRecord, bySubmitter: boolean): Promise<object> {
  const sensitive = isSensitive(ports, record);
  const notFound = () => new Problem("input_not_kept", sensitive ? notShown : notKept);
  if (bySubmitter && sensitive) throw notFound();
  const found = await inputOf(ports, record, sensitive).catch((error: unknown) => {
    if (error instanceof PermanentError) throw notFound();
    throw error;
  });
  if (found === undefined) throw notFound();
  return found;
}

const isSensitive = ({ types }: Pick<Ports, "types">, { type }: TaskRecord): boolean =>
  (types.get(type) as { sensitive?: true } | undefined)?.sensitive === true || !types.has(type);

const notKept =
  "The task's input cannot be read: it is in the task's message while it runs or waits in a queue, and deleted after its end.";

const notShown = "Inputs of a sensitive type are shown to operators only, and only small ones of dead letters.";

export const texts: TextsOf<ReturnType<typeof acts>> = {
  changeTaskPriority: {
    route: "POST /tasks/{task_id}/priority",
    rows: "priorities",
    notes: ["body"],
    summary: "Move a waiting task to another tier",
    description:
      "The task runs once, and no sooner than it is due. Its children keep their tiers. When its input has over 256 bytes, or its type is sensitive, " +
      "the task may start only after its message has reached the front of its old tier, unless it waits in a line, as in a paused tier. A repeated request changes nothing.",
    body: "Priority",
    fields: { priority: "Tier to which the task moves." },
    example: { priority: "high" },
    answers: { 200: "The task, in its new tier." },
    problems: ["conflict"],
    command: {
      name: "priority",
      description: "move a waiting task to another tier",
      takes: "<tier>",
      value: "the tier",
      among: tiers,
      call: "setPriority",
    },
  },
  rescheduleTask: {
    route: "POST /tasks/{task_id}/reschedule",
    rows: "priorities",
    notes: ["body"],
    summary: "Move the start of a waiting task",
    description:
      "For a task that waits for the end of its delay; operators also move a retry. No attempt starts before the new time. A time in the past means now. What is counted from the start, such as `expires_in_seconds`, moves with it. " +
      "`not_waiting`: the task runs, has ended, waits for something else, or is moved to an earlier time and its input is in a message that cannot be read yet. It counts toward the tenant's `submits_per_second`.",
    body: "Reschedule",
    fields: {
      delay_seconds: "The task starts so many seconds from now. Not with `run_at`.",
      run_at: "The task starts at this time. Not with `delay_seconds`.",
    },
    example: { delay_seconds: 3600 },
    answers: { 202: "The task, with its new start." },
    problems: ["not_waiting", "rate_limited"],
  },
  redeliverTask: {
    route: "POST /tasks/{task_id}/deliveries/redeliver",
    tag: "webhooks",
    summary: "Deliver the webhook of a task again",
    description:
      "Starts a new series of tries with the same id and body, also after a success. It counts toward the tenant's `submits_per_second`.",
    answers: { 202: ["Redelivery", "The webhook is sent again.", []] },
    problems: ["conflict", "rate_limited"],
  },
  listSteps: {
    route: "GET /tasks/{task_id}/steps",
    summary: "List the steps, sleeps, waits and states of a task",
    answers: { 200: ["StepList", "The entries."] },
  },
  changeTaskInput: {
    route: "POST /tasks/{task_id}/input",
    summary: "Change the input of a waiting task",
    description:
      "The next attempt and all later ones get the new input, which is checked as at a submit. `conflict`: the task runs or has ended, or has stored steps, states, signals or children.",
    body: "NewInput",
    fields: { input: "The task's input from now on, which is checked as at a submit." },
    example: { input: { to: "ada@example.com" } },
    answers: { 200: "The task." },
    problems: ["conflict", "unknown_task_type"],
  },
  readInput: {
    route: "GET /tasks/{task_id}/input",
    summary: "Read the input of a task",
    description:
      "Offload keeps an input where that costs nothing: where the record with the input needs no more write units of 1 KB than the record alone. It also keeps " +
      "the inputs of types with `keepInput`, of dead letters, of children that were cancelled or expired and of tasks with a long wait, and an input that a later submit or retry replaced. " +
      "The input of a sensitive type is kept only for a dead letter, can be read only by operators, and only if it is not large.",
    answers: { 200: ["Input", "The input."] },
    problems: ["input_not_kept"],
  },
};
