// Loaded before it is used: time that a test moves does not wait for code.
import "../../src/core/pipeline/work/late-code.ts";
import { iso, type TaskKey, type TaskRecord } from "../../src/core/model/record.ts";
import { type Tier, tiers } from "../../src/core/model/words.ts";
import { submit } from "../../src/core/pipeline/submit/submit.ts";
import type { SubmitCall } from "../../src/core/pipeline/submit/submit-ports.ts";
import { redriveBatch } from "../../src/core/pipeline/work/redrive.ts";
import { workBatch } from "../../src/core/pipeline/work/work.ts";
import type { Verdict } from "../../src/core/ports/queues.ts";
import { fireTask } from "../../src/core/schedules/fire-task.ts";
import { internalOptions } from "../../src/core/task/internal-types.ts";
import type { TaskType } from "../../src/core/task/task.ts";
import { nextMoment } from "../../src/memory/stores.ts";
import type { ObjectRole } from "../../src/settings/object-rights.ts";
import { operator } from "./identities.ts";
import { inRole } from "./in-role.ts";
import { type Part, type PipelineOptions, portsOf } from "./pipeline-ports.ts";
import { echo } from "./task-types.ts";

/** How long SQS hides a message that its worker does not hold, in seconds. */
export const queueVisibilitySeconds = 5400;

/** What a worker has left at its start, in seconds. */
export const workerSeconds = 900;

const roleOfWorker = (tier: Tier): ObjectRole =>
  tier === internalOptions.sweep.priority ? "internalWorker" : "worker";

/** A pipeline in memory, with a clock of its own: submit, work, redrive and fire as the functions wire them. */
function pipelineOf(types: readonly TaskType[], options: PipelineOptions, parts: readonly Part[]) {
  const { ports, children, lacks } = portsOf(types, options, parts);
  const { clock } = ports;
  const [first] = types;

  /** Submits a task of the first type, unless the body says otherwise. */
  const accept = async (body: Record<string, unknown> = {}, call: Partial<SubmitCall> = {}): Promise<TaskRecord> => {
    const given = { type: first?.name, input: first === echo ? { value: null } : null, ...body };
    const made: SubmitCall = { identity: operator, body: given, correlationId: "corr-1", ...call };
    return (await submit(inRole("submit", ports), made)).record;
  };

  /** Lets a worker take what is visible in a tier, and acknowledges what it is done with. */
  const work = async (tier: Tier = "normal", seconds = workerSeconds): Promise<Verdict[]> => {
    const deliveries = ports.queues.take(tier, 10, queueVisibilitySeconds);
    for (const delivery of deliveries) lacks.mayBeInternal(ports.registry, delivery);
    const verdicts = await withDueTimers(
      workBatch(inRole(roleOfWorker(tier), ports), deliveries, clock.now() + seconds * 1000),
    );
    for (const [index, { receiptHandle }] of deliveries.entries()) {
      if (verdicts[index] === "done") ports.queues.acknowledge(receiptHandle);
    }
    return verdicts;
  };

  /** Runs the timers that are due now until the work ends, or waits for something else. */
  const withDueTimers = async <T>(working: Promise<T>): Promise<T> => {
    let ended = false;
    const end = working.finally(() => {
      ended = true;
    });
    do await clock.advance(0);
    while (!ended && (clock.nextTimer() ?? Number.POSITIVE_INFINITY) <= clock.now());
    return end;
  };

  /** Gives what is visible in a tier to redrive, as after too many receives. */
  const redrive = async (tier: Tier = "normal"): Promise<Verdict[]> => {
    const deliveries = ports.queues.take(tier, 10, 60);
    const verdicts = await redriveBatch(inRole("redrive", ports), deliveries);
    for (const [index, { receiptHandle }] of deliveries.entries()) {
      if (verdicts[index] === "done") ports.queues.acknowledge(receiptHandle);
    }
    return verdicts;
  };

  /** Fires the one-offs that are due. */
  const fire = async (): Promise<string[]> => {
    const due = ports.oneOffs.takeDue(iso(clock.now()));
    return Promise.all(
      due.map(async (payload) => {
        if (payload.kind === "task") return fireTask(inRole("fire", ports), payload);
        await ports.notices.send([payload.notice]);
        return "sent";
      }),
    );
  };

  const nextEvent = () => nextMoment(ports);

  /** Works until nothing is left to do, moving time on to whatever comes next. */
  const drain = async (): Promise<void> => {
    for (let steps = 0; steps < 500; steps++) {
      const next = nextEvent();
      if (next === undefined) return;
      await clock.advance(Math.max(0, next - clock.now()));
      await fire();
      for (const tier of tiers) await work(tier);
    }
    throw new Error("the pipeline never came to rest");
  };

  const recordOf = async (key: TaskKey): Promise<TaskRecord> => {
    const record = await ports.records.get(key);
    if (record === undefined) throw new Error(`there is no task ${key.task_id}`);
    return record;
  };

  return { ...ports, ports, children, accept, work, redrive, fire, drain, nextEvent, recordOf };
}

export type Pipeline = ReturnType<typeof pipelineOf>;

/** Makes pipelines with parts that most tests do without. */
export const pipelineWith =
  (...parts: readonly Part[]) =>
  (types: readonly TaskType[] = [echo], options: PipelineOptions = {}): Pipeline =>
    pipelineOf(types, options, parts);

/** A pipeline without parts. */
export const memoryPipeline = pipelineWith();
