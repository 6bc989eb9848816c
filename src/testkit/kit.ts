import type { Random } from "../core/ports.ts";
import type { DefinedTask, TaskType } from "../core/task.ts";
import type { Tier } from "../core/tier.ts";
import { type Fault, Faults } from "./faults.ts";
import { type Outcome, outcomeOf, type ResultOf } from "./outcome.ts";
import { World } from "./world.ts";

export type { Fault } from "./faults.ts";
export type { AttemptReport, ChildReport, Outcome } from "./outcome.ts";
export type { LogLine, Submitted } from "./track.ts";

/** How a test kit is set up. */
export interface KitOptions {
  /** The tenant of tasks that are run without one. Default: `test-tenant`. */
  tenantId?: string;
  /** When the kit's time begins. Default: 2027-01-01T00:00:00Z. */
  startsAt?: Date;
  /** Draws the random part of waits, from 0 up to, not including, 1. Default: always 0, so waits are not lengthened. */
  random?: Random;
  /**
   * How long a handler may wait for something real, in milliseconds of real time, before the kit's time passes for it too, up
   * to its time-out. A handler that hangs makes a test this slow; see the fault `timeout` for one that is not. Default: 2000.
   */
  patienceMs?: number;
}

/** How one task is run. */
export interface RunOptions {
  /** Default: the kit's. */
  tenantId?: string;
  /** The principal. Default: `test`. */
  requestedBy?: string;
  /** Default: the type's own. */
  priority?: Tier;
  /** As a client's `delay_seconds`. Default: 0. */
  delaySeconds?: number;
  /** As a client's `max_attempts`. Default: the type's own. */
  maxAttempts?: number;
  /** As a client's `expires_in_seconds`. Default: the task does not expire. */
  expiresInSeconds?: number;
  /** What goes wrong, and when. Default: nothing. */
  faults?: readonly Fault[];
  /** Whether every message is handed to two workers at once, as queues may do. Default: false. */
  deliverTwice?: boolean;
}

/**
 * Runs task types in memory as a deployment would: from submit over every attempt to the end, with the waits in between. No
 * time really passes for them, and nothing is needed but the types.
 *
 * A kit is one small deployment: once-only outcomes stay between two runs. Make a new one where a test must begin afresh.
 */
export class TestKit {
  readonly #world: World;
  readonly #tenantId: string;

  constructor(types: readonly TaskType[], options: KitOptions = {}) {
    const { tenantId = "test-tenant", startsAt, random = () => 0, patienceMs = 2000 } = options;
    this.#tenantId = tenantId;
    this.#world = new World(types, { startMs: startsAt?.getTime(), random, patienceMs });
  }

  /** The kit's time, in epoch milliseconds. */
  now(): number {
    return this.#world.clock.now();
  }

  /**
   * Submits a task and works until nothing is left to do, also for the tasks that it submitted.
   * @throws Problem `invalid_input` when the input does not fit the type's schema, as for a client
   * @example
   * const { status, result } = await testKit([resize]).run(resize, { width: 200 }, { maxAttempts: 1 });
   */
  async run<Input, Returned>(
    type: DefinedTask<Input, Returned>,
    input: Input,
    options: RunOptions = {},
  ): Promise<Outcome<ResultOf<Returned>>> {
    const { tenantId = this.#tenantId, requestedBy = "test", faults = [], deliverTwice = false } = options;
    const waiting = new Faults(faults);
    const record = await this.#world.submit({
      identity: { tenantId, principal: requestedBy, role: "operator" },
      body: bodyOf(type, input, options),
      correlationId: "test",
    });
    this.#world.track(record, waiting);
    await this.#world.drain(deliverTwice);
    return (await outcomeOf(this.#world, record)) as Outcome<ResultOf<Returned>>;
  }
}

/** What a client would post: what was not asked for is left out. */
function bodyOf(type: TaskType, input: unknown, options: RunOptions): Record<string, unknown> {
  const body = {
    type: type.name,
    input,
    priority: options.priority,
    delay_seconds: options.delaySeconds,
    max_attempts: options.maxAttempts,
    expires_in_seconds: options.expiresInSeconds,
  };
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}

/**
 * A test kit for these types: the one that is tested, and those of the tasks that it submits, where they are to run too.
 * @example
 * const kit = testKit([sendWelcome]);
 * const outcome = await kit.run(sendWelcome, { email: "ada@example.com" }, { faults: [{ step: 2, how: "crash" }] });
 */
export const testKit = (types: readonly TaskType[], options?: KitOptions): TestKit => new TestKit(types, options);
