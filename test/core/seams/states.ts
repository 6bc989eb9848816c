import { replayOne } from "../../../src/core/control/act-on-task.ts";
import { changeInput, changePriority, reschedule } from "../../../src/core/control/change-waiting.ts";
import { cancel, extend, retry } from "../../../src/core/control/control.ts";
import { runNow } from "../../../src/core/control/run-now.ts";
import { inputOf } from "../../../src/core/control/stored-parts.ts";
import { pause, resume } from "../../../src/core/extras/limits/manage-flow.ts";
import { PermanentError } from "../../../src/core/model/errors.ts";
import type { TaskRecord } from "../../../src/core/model/record.ts";
import type { TaskContext } from "../../../src/core/task/context.ts";
import { deletedBefore } from "../../support/beside.ts";
import { type Pipeline, pipelineWith } from "../../support/memory-pipeline.ts";
import { allParts } from "../../support/parts/all.ts";
import { typeOf } from "../../support/task-types.ts";

const memoryPipeline = pipelineWith(...allParts);

const daySeconds = 86_400;

type Attempt = (task: TaskContext) => Promise<unknown>;

/** A task in a state, and what its handler does from then on. */
export interface World {
  pipeline: Pipeline;
  key: TaskRecord;
  /** Inputs of the attempts that have started. */
  ran: unknown[];
  repeat: () => Promise<unknown>;
}

const body = { input: "old", retention_seconds: 60 };

const completes: Attempt = async () => "done";
const retried: Attempt = () => Promise.reject(new Error("retried"));
const failed: Attempt = () => Promise.reject(new PermanentError("failed"));
const sleeps: Attempt = (task) => task.sleep(3600);

/** Something that changes a task, and its answer in a word. */
export type Operation = (world: World) => Promise<unknown>;

const present = ({ pipeline, key }: World) => pipeline.recordOf(key);

export const operations: Record<string, Operation> = {
  extend: async (world) => extend(world.pipeline.ports, await present(world), 30 * daySeconds),
  retry: async (world) => retry(world.pipeline.ports, await present(world)),
  "retry with input": async (world) => retry(world.pipeline.ports, await present(world), { input: "new", version: 1 }),
  "change input": async (world) =>
    changeInput(world.pipeline.ports, await present(world), { input: "new", version: 1 }),
  "change priority": async (world) => changePriority(world.pipeline.ports, await present(world), "high"),
  "run now": async (world) => runNow(world.pipeline.ports, await present(world)),
  "move the start": async (world) => {
    const { pipeline } = world;
    return reschedule(pipeline.ports, await present(world), pipeline.clock.now() + 7_200_000, true);
  },
  cancel: async (world) => cancel(world.pipeline.ports, await present(world)),
  replay: async (world) => {
    const { tenant_id, task_id, dead_letter_at = "never" } = await present(world);
    return replayOne(world.pipeline.ports, { tenant_id, task_id, dead_letter_at });
  },
  "repeat the submit": ({ repeat }) => repeat(),
};

/** Moves the time on in small steps while something that waits is done. */
async function whileTimePasses({ clock }: Pipeline, doing: Promise<unknown>): Promise<void> {
  let ended = false;
  void doing.then(() => {
    ended = true;
  });
  while (!ended) await clock.advance(500);
}

const target = { scope: "type", type: "test.task" } as const;

/** Brings a task into a state: the attempts of its handler, and what is done before the operation. */
interface State {
  attempts: Attempt[];
  more?: Record<string, unknown>;
  /** True: the operation comes in the middle of the first attempt. */
  within?: true;
  before?: (world: World) => Promise<unknown>;
}

const once = ({ pipeline }: World) => pipeline.work();

export const states: Record<string, State> = {
  "an attempt that completes": { within: true, attempts: [completes] },
  "an attempt that is retried": { within: true, attempts: [retried] },
  "an attempt that sleeps": { within: true, attempts: [sleeps] },
  "a sleep": { attempts: [sleeps], before: once },
  "a wait for a signal": { attempts: [(task) => task.waitFor("go", { timeoutSeconds: 3600 })], before: once },
  "a wait in a line": {
    attempts: [],
    before: async (world) => {
      await whileTimePasses(world.pipeline, pause(world.pipeline.ports, target, "olga"));
      await world.pipeline.work();
    },
  },
  "a line, then a delay": {
    attempts: [],
    more: { unique: { key: "k" } },
    before: async (world) => {
      const { pipeline } = world;
      await states["a wait in a line"]?.before?.(world);
      await pipeline.accept({ ...body, unique: { key: "k", mode: "replace" }, delay_seconds: 3600 });
    },
  },
  "a retry's wait": { attempts: [retried], before: once },
  "a delay": { attempts: [], more: { delay_seconds: 3600 } },
  "a wait for children": {
    attempts: [(task) => task.spawn({ name: "leaf" }, null, { delaySeconds: 3600 })],
    before: once,
  },
  "an operator's retry": {
    attempts: [failed],
    before: async (world) => {
      await world.pipeline.work();
      await operations.retry?.(world);
      await world.pipeline.clock.advance(120_000);
    },
  },
  completed: { attempts: [completes], before: once },
  failed: {
    attempts: [failed],
    before: async ({ pipeline }) => {
      await pipeline.work();
      await pipeline.clock.advance(10 * daySeconds * 1000);
    },
  },
  cancelled: { attempts: [], more: { delay_seconds: 3600 }, before: async (world) => operations.cancel?.(world) },
};

/** Notes where the messages and one-offs of a task go. */
function noted(pipeline: Pipeline, key: TaskRecord): string[] {
  const sent: string[] = [];
  const { queues, oneOffs } = pipeline;
  const send = queues.send.bind(queues);
  queues.send = (message) => {
    if (message.envelope.task_id === key.task_id) sent.push(message.tier);
    return send(message);
  };
  const create = oneOffs.create.bind(oneOffs);
  oneOffs.create = (oneOff) => {
    if (oneOff.name.startsWith(key.task_id)) sent.push("later");
    return create(oneOff);
  };
  return sent;
}

/** One cell of the table, in the words of its columns. */
export interface Cell {
  answer: string;
  after: string;
  shows: string;
  sent: string;
  keptDays: number;
  end: string;
  endKeptDays: number;
}

const shown = ({ status, priority }: TaskRecord): string => (priority === "normal" ? status : `${status} ${priority}`);

/** Does something with a task in a state, then lets everything come to rest. */
export async function seam(operation: Operation, { attempts, more, within, before }: State): Promise<Cell> {
  const left = [...attempts];
  const ran: unknown[] = [];
  let during: (() => Promise<unknown>) | undefined;
  const pipeline: Pipeline = memoryPipeline([
    typeOf(
      async (input: unknown, task) => {
        ran.push(input);
        await during?.();
        return (left.shift() ?? completes)(task);
      },
      { children: {} },
    ),
    typeOf(async () => 1, { name: "leaf" }),
  ]);
  // A unique task has its own way to repeat a submit.
  const unique = operation === operations["repeat the submit"] ? {} : { unique: { key: "k" } };
  const submit = () => pipeline.accept({ ...body, ...unique, ...more }, { idempotencyKey: "k" });
  const key = await submit();
  const sent = noted(pipeline, key);
  const world: World = { pipeline, key, ran, repeat: submit };
  await before?.(world);
  let cell: Pick<Cell, "answer" | "after" | "shows" | "sent"> | undefined;
  const operate = async () => {
    during = undefined;
    sent.length = 0;
    const answer = await operation(world).then(
      (done) => (typeof done === "string" ? done : "ok"),
      (error) => error.code as string,
    );
    ran.length = 0;
    const record = await present(world);
    const shows = String((await inputOf(pipeline, record, false))?.input);
    cell = { answer, after: shown(record), shows, sent: sent.join(" ") };
  };
  if (within) {
    during = operate;
    await pipeline.work();
  } else await operate();
  const { clock } = pipeline;
  const after = await present(world);
  const keptDays = Math.round((after.purge_at - clock.now() / 1000) / daySeconds);
  const tooEarly = await deletedBefore(pipeline, after);
  if (tooEarly.length > 0) throw new Error(`kept for too short a time: ${tooEarly.join(", ")}`);
  await whileTimePasses(pipeline, resume(pipeline.ports, target, "normal", "olga"));
  await pipeline.drain();
  const ended = await present(world);
  const inputs = ran.length === 0 ? "" : `, ran with ${ran.join(" and ")}`;
  return {
    ...(cell as NonNullable<typeof cell>),
    keptDays,
    end: `${shown(ended)} after ${ended.attempts}${inputs}`,
    endKeptDays: Math.round((ended.purge_at - Date.parse(ended.finished_at ?? ended.updated_at) / 1000) / daySeconds),
  };
}
