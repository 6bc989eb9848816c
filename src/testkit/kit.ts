import type { Identity, Tier } from "../core/model/words.ts";
import type { Random } from "../core/ports/tasks.ts";
import type { ScheduleView } from "../core/schedules/schedule-record.ts";
import type { DefinedTask, TaskType } from "../core/task/task.ts";
import { durationSeconds } from "../util/duration.ts";
import { type ChildPath, type Fault, Faults, ofChild } from "./faults.ts";
import { withKitDates } from "./kit-date.ts";
import { type AttemptReport, type Outcome, outcomeOf, type ResultOf } from "./outcome.ts";
import { leftTimers, withStrays } from "./strays.ts";
import { asJson, type Signal, World } from "./world.ts";

export type { Fault } from "./faults.ts";
export type { AttemptReport, ChildReport, Outcome, SpawnedChild } from "./outcome.ts";
export type { LogLine, Submitted } from "./track.ts";
export type { Signal } from "./world.ts";

/** Options of a test kit. */
export interface KitOptions {
  /** The tenant of all tasks, unless `run` gets another one. Default: `test-tenant`. */
  tenantId?: string;
  /**
   * The kit's time at the start, which `Date` has in task types, and which passes in their waits. Default: the time at
   * which the kit is created.
   */
  startsAt?: Date;
  /**
   * Returns the random part of waits, at least 0 and less than 1. Default: always 0, so that waits are not lengthened.
   */
  random?: Random;
  /**
   * Real time in milliseconds that the kit waits for a handler. After it, the kit advances its own time until the
   * attempt ends, at the latest at its time-out. A handler that hangs makes the test this slow. The fault `timeout`
   * tests a time-out without this wait. Default: 2000.
   */
  patienceMs?: number;
}

/** Options of one task. */
export interface RunOptions {
  /** Default: the kit's. */
  tenantId?: string;
  /** The principal that submits the task. Default: `test`. */
  requestedBy?: string;
  /** Default: the type's priority. */
  priority?: Tier;
  /** The client's `delay_seconds`. Default: 0. */
  delaySeconds?: number;
  /** The client's `max_attempts`. Default: the type's `maxAttempts`. */
  maxAttempts?: number;
  /** The client's `expires_in_seconds`. Default: the task does not expire. */
  expiresInSeconds?: number;
  /**
   * The task's files, by their names in the type. A `File` has a name and a media type; bytes are
   * `application/octet-stream`. Default: none.
   * @example { video: new File([bytes], "talk.mp4", { type: "video/mp4" }) }
   */
  files?: Readonly<Record<string, Uint8Array | Blob>>;
  /**
   * Signals that a client sends to the task, each that many seconds of the kit's time after the submit (default: 0,
   * before the first attempt). Default: none.
   * @example [{ name: "approved", body: { by: "ada" }, afterSeconds: 3600 }]
   */
  signals?: readonly Signal[];
  /**
   * False: the tasks that the handlers submit are accepted, and do not start. Children always run, as their parent
   * needs their ends. Default: true.
   */
  follow?: boolean;
  /** The failures of this test. Default: none. */
  faults?: readonly Fault[];
  /** True: two workers get every message at the same time, as SQS can deliver a message twice. Default: false. */
  deliverTwice?: boolean;
}

/** Options of a task that is started. */
export type StartOptions = Omit<RunOptions, "faults" | "deliverTwice">;

/** A task that was started, and goes on when the kit's time is advanced. */
export interface StartedTask<Result = unknown> {
  readonly taskId: string;
  /** Returns the task's present state. */
  outcome(): Promise<Outcome<Result>>;
  /** Sends a signal as a client would, and works on what is due then. */
  signal(name: string, body?: unknown): Promise<void>;
}

/**
 * Runs task types in memory, like a deployment: from the submit through all attempts and the waits between them to the
 * end. Waits take no real time. The kit needs only the task types.
 *
 * A kit is one small deployment: the results of `task.once` are kept from one `run` to the next. Create a new kit for a
 * test that needs a fresh start.
 */
export class TestKit {
  readonly #world: World;
  readonly #tenantId: string;
  readonly #types: readonly TaskType[];
  readonly #options: KitOptions;

  constructor(types: readonly TaskType[], options: KitOptions = {}) {
    const { tenantId = "test-tenant", startsAt = new Date(), random = () => 0, patienceMs = 2000 } = options;
    this.#tenantId = tenantId;
    this.#types = types;
    this.#options = options;
    this.#world = new World(types, { startMs: startsAt.getTime(), random, patienceMs });
  }

  /** The kit's time, in epoch milliseconds. */
  now(): number {
    return this.#world.clock.now();
  }

  /**
   * Submits a task, and works until this task, the tasks that it submitted and the children that it spawned have ended.
   * With `follow: false` the submitted tasks are not worked on.
   * @throws Problem `invalid_input` when a deployment would refuse the input or a file at submit. An input that only a
   * refinement refuses is accepted, and its task fails with `validation`.
   * @throws Problem `conflict` when a deployment would refuse a signal, such as one of a task that has ended
   * @throws RangeError when a fault of the test did not happen
   * @throws Error when tasks submit tasks of their own type without an end
   * @throws Error when a handler's code fails after its attempt has ended by itself, as a deployment would only log
   * that: an `await` is missing
   * @example
   * const { status, result } = await testKit([resize]).run(resize, { width: 200 }, { maxAttempts: 1 });
   */
  async run<Input, Returned>(
    type: DefinedTask<Input, Returned>,
    input: Input,
    options: RunOptions = {},
  ): Promise<Outcome<ResultOf<Returned>>> {
    return this.#atKitTime(() => this.#run(type, input, options));
  }

  /**
   * Submits a task, and works on what is due now: on its first attempt, unless the task has a delay. `advance` lets the
   * time pass that it waits for.
   * @throws Problem as `run`
   * @example
   * const trial = await kit.start(startTrial, { customer: "ada" });
   * await kit.advance("29d");
   * expect((await trial.outcome()).status).toBe("pending");
   */
  async start<Input, Returned>(
    type: DefinedTask<Input, Returned>,
    input: Input,
    options: StartOptions = {},
  ): Promise<StartedTask<ResultOf<Returned>>> {
    return this.#atKitTime(async () => {
      const { record, track } = await this.#submit(type, input, options, new Faults([]));
      await this.#world.drain(false, this.now());
      this.#world.mustHaveNoMistake(track);
      return {
        taskId: record.task_id,
        outcome: async () => (await outcomeOf(this.#world, record)) as Outcome<ResultOf<Returned>>,
        signal: (name, body) =>
          this.#atKitTime(async () => {
            this.#world.sendLater(record, [{ name, body }]);
            await this.#world.drain(false, this.now());
          }),
      };
    });
  }

  /**
   * Lets the kit's time pass, as `npx offload clock` does with a local server: delays, retries, sleeps and ends of
   * waits of the tasks that were started happen, each at its time, and so do the times of schedules.
   * @param time A duration such as `2d`, `90m` or `1d 12h`, or the time to which it goes.
   * @throws RangeError for a text that is no duration, and for a time that has passed
   */
  async advance(time: string | Date): Promise<void> {
    const seconds = typeof time === "string" ? durationSeconds(time) : undefined;
    const untilMs = typeof time === "string" ? this.now() + (seconds ?? Number.NaN) * 1000 : time.getTime();
    if (!(untilMs >= this.now())) {
      const expected = "a duration such as 2d or 90m, or a time that is to come";
      throw new RangeError(`advance: expected ${expected}, got ${String(time)}`);
    }
    await this.#atKitTime(() => this.#world.drain(false, untilMs));
  }

  /**
   * Returns the schedules that handlers have made for a tenant, in the order of their names, as clients see them. Their
   * times come with `advance`.
   * @param tenantId Default: the kit's.
   */
  schedules(tenantId = this.#tenantId): Promise<ScheduleView[]> {
    return this.#world.schedules(tenantId);
  }

  #atKitTime<T>(work: () => Promise<T>): Promise<T> {
    return withStrays(() => withKitDates(work));
  }

  async #run<Input, Returned>(
    type: DefinedTask<Input, Returned>,
    input: Input,
    options: RunOptions,
  ): Promise<Outcome<ResultOf<Returned>>> {
    const { faults = [], deliverTwice = false } = options;
    const { record, track } = await this.#submit(type, input, options, new Faults(faults));
    await this.#world.drain(deliverTwice);
    if (faults.length === 0) await leftTimers();
    this.#world.mustHaveNoMistake(track);
    return (await outcomeOf(this.#world, record)) as Outcome<ResultOf<Returned>>;
  }

  /** Submits a task with its signals, of which each comes at its time. */
  async #submit(type: TaskType, input: unknown, options: RunOptions, faults: Faults) {
    const { tenantId = this.#tenantId, requestedBy = "test" } = options;
    const identity: Identity = { tenantId, principal: requestedBy, role: "operator" };
    const files = options.files && (await this.#world.upload(identity, options.files));
    const record = await this.#world.submit({
      identity,
      body: { ...bodyOf(type, input, options), ...(files && { files }) },
      correlationId: "test",
    });
    const track = this.#world.track(record, faults, []);
    track.lineage = { ...track.lineage, follow: options.follow ?? true, types: new Set([type.name]) };
    this.#world.sendLater(record, options.signals ?? []);
    return { record, track };
  }

  /**
   * Runs a task once without a fault, and then once for each step of its attempts with a crash of the worker after that
   * step. The attempts of its spawned children are included: let it spawn two or three. Each run has a new kit of the
   * same types and options. After each run it calls `check`, which makes the test's assertions and clears what the
   * handler's effects left. The error that `check` throws gets the step's name and the run's timeline.
   * @example
   * await testKit([sendWelcome]).crashEverywhere(sendWelcome, { email }, (outcome) => {
   *   expect(outcome.status).toBe("completed");
   *   expect(outbox.splice(0)).toEqual([email]);
   * });
   */
  async crashEverywhere<Input, Returned>(
    type: DefinedTask<Input, Returned>,
    input: Input,
    check: (outcome: Outcome<ResultOf<Returned>>) => void | Promise<void>,
    options: Omit<RunOptions, "faults"> = {},
  ): Promise<void> {
    const runAndCheck = async (where: string, faults: readonly Fault[]) => {
      const outcome = await new TestKit(this.#types, this.#options).run(type, input, { ...options, faults });
      try {
        await check(outcome);
      } catch (error) {
        throw labelled(error, where, outcome.timeline);
      }
      return outcome;
    };
    const outcome = await runAndCheck("without a crash", []);
    for (const { child, attempt, step, name } of stepsOf(outcome)) {
      const where = `step ${step} of attempt ${attempt}${ofChild(child)}, "${name}"${delayOf(name)}`;
      await runAndCheck(`crash after ${where}`, [{ child, attempt, step, how: "crash" }]);
    }
  }
}

interface StepPlace {
  child: ChildPath;
  attempt: number;
  step: number;
  name: string;
}

/** All steps of a task, and then those of its children. */
function stepsOf({ attempts, children }: Outcome, child: ChildPath = []): StepPlace[] {
  const own = attempts.flatMap(({ steps }: AttemptReport, index) =>
    steps.map((name, stepIndex) => ({ child, attempt: index + 1, step: stepIndex + 1, name })),
  );
  return [...own, ...children.flatMap((one) => stepsOf(one, [...child, one.key]))];
}

/** Says of a step that the handler does not await that the crash comes later. */
const delayOf = (step: string): string =>
  /^task\.(progress|log)\b/.test(step) ? " (the handler goes on to its next `once` or `submit`, or to its end)" : "";

/** Adds the place of the crash and the timeline to the error of an assertion, which keeps its diff. */
function labelled(error: unknown, where: string, timeline: string): Error {
  const failure = error instanceof Error ? error : new Error(String(error));
  failure.message = `${where}: ${failure.message}\n\n${timeline}`;
  return failure;
}

/** The body of a client's request for this task. Options that are undefined are left out. */
function bodyOf(type: TaskType, input: unknown, options: RunOptions): Record<string, unknown> {
  const body = {
    type: type.name,
    input: asJson(input),
    priority: options.priority,
    delay_seconds: options.delaySeconds,
    max_attempts: options.maxAttempts,
    expires_in_seconds: options.expiresInSeconds,
  };
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}

/**
 * Creates a test kit for task types: the tested type, and the types of submitted tasks that the test must also run.
 * @example
 * const kit = testKit([sendWelcome]);
 * const outcome = await kit.run(sendWelcome, { email: "ada@example.com" }, { faults: [{ step: 2, how: "crash" }] });
 */
export const testKit = (types: readonly TaskType[], options?: KitOptions): TestKit => new TestKit(types, options);
