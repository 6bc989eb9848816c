import { describe, expect, test } from "vitest";
import * as z from "zod";
import { retry } from "../../../../src/core/control/control.ts";
import { PermanentError } from "../../../../src/core/model/errors.ts";
import { iso, type TaskRecord } from "../../../../src/core/model/record.ts";
import { isTerminal, tiers } from "../../../../src/core/model/words.ts";
import { childPages } from "../../../../src/core/pipeline/end/child-results.ts";
import type { TaskContext } from "../../../../src/core/task/context.ts";
import { defineTask } from "../../../../src/core/task/task.ts";
import { Dice } from "../../../simulation/dice.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { type Life, Mortals } from "../../../support/mortal.ts";
import { children } from "../../../support/parts/children.ts";
import { operations } from "../../../support/parts/operations.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(children, operations);

/** More worlds, and others: `OFFLOAD_WORLDS=3000 OFFLOAD_SEED=20000`. */
const worlds = Number(process.env.OFFLOAD_WORLDS ?? 60);
const seeds = Array.from({ length: worlds }, (_, index) => index + Number(process.env.OFFLOAD_SEED ?? 0));

/** Later than all deaths: the message of a dead worker is visible again after 5,400 s. */
const lateSeconds = 10 * 86_400;

interface Child {
  n: number;
  fails: boolean;
  delaySeconds: number;
}

/** A family that stops on failure, whose workers die at any call of a port, before or after its effect. */
class World {
  readonly dice: Dice;
  readonly deadly: boolean;
  readonly children: Child[];
  readonly threshold: number;
  readonly failsFirst: boolean;
  readonly sleepSeconds: number;
  readonly ran: number[] = [];
  readonly pipeline: ReturnType<typeof memoryPipeline>;
  readonly mortals: Mortals;
  cured = false;
  deaths = 0;

  constructor(seed: number) {
    const dice = new Dice(seed);
    this.dice = dice;
    this.deadly = seed % 3 !== 0;
    this.threshold = [1, 1, 0.9, 0.75, 0.5][dice.int(0, 4)] ?? 1;
    this.failsFirst = dice.chance(0.3);
    this.sleepSeconds = dice.chance(0.3) ? dice.spread(1, 10_000) : 0;
    this.children = Array.from({ length: dice.int(1, 9) }, (_, n) => {
      const fails = dice.chance(0.3);
      const early = dice.chance(0.5) ? 0 : dice.spread(1, 5_000);
      return { n, fails, delaySeconds: fails || dice.chance(0.5) ? early : lateSeconds };
    });
    const options = { maxAttempts: 20, children: { threshold: this.threshold, stopOnFailure: true } };
    this.pipeline = memoryPipeline([typeOf((_, task) => this.#parent(task), options), this.#child]);
    const { clock, ports } = this.pipeline;
    // Several leaves, and nodes above them.
    Object.assign(ports, { nodeSize: 3 });
    const { records, queues, families, steps, blobs, notices, oneOffs, lines } = ports;
    this.mortals = new Mortals(clock, [records, queues, families, steps, blobs, notices, oneOffs, lines]);
  }

  readonly #child = defineTask({
    name: "child",
    input: z.object({ n: z.int() }),
    maxAttempts: 20,
    handler: ({ n }) => {
      this.ran.push(n);
      if (this.children[n]?.fails && !this.cured) throw new PermanentError(`child ${n}`);
      return n;
    },
  });

  async #parent(task: TaskContext): Promise<void> {
    for (const { n, delaySeconds } of this.children) await task.spawn(this.#child, { n }, { delaySeconds });
    if (this.failsFirst && task.attempt === 1) throw new Error("the first attempt");
    if (this.sleepSeconds > 0) await task.sleep(this.sleepSeconds);
  }

  get failures(): number {
    return this.children.filter(({ fails }) => fails).length;
  }

  get needed(): number {
    return Math.ceil(this.threshold * this.children.length - 1e-9);
  }

  get isLost(): boolean {
    return this.children.length - this.failures < this.needed;
  }

  async childrenOf(parent: TaskRecord): Promise<TaskRecord[]> {
    const found: TaskRecord[] = [];
    for await (const { children } of childPages(this.pipeline.ports, parent)) found.push(...children);
    return found;
  }

  /** Lets a worker of a tier take what is visible, until it is done or dead. */
  async #work(tier: (typeof tiers)[number]): Promise<void> {
    const { dice, pipeline, mortals } = this;
    const dies = this.deadly && this.deaths < 8 && dice.chance(0.5);
    const life: Life = {
      ...{ left: dies ? dice.spread(1, 60) : Number.POSITIVE_INFINITY, calls: 0 },
      ...{ diesAfter: dice.chance(0.5), dead: false },
    };
    let over = false;
    void mortals.run(life, async () => {
      await pipeline.work(tier);
      over = true;
    });
    for (let turns = 0; !over && !life.dead; turns++) {
      if (turns > 20_000) throw new Error("an attempt never ends");
      await pipeline.clock.advance(0);
      if (over) break;
      await pipeline.clock.advance(Math.max(0, (pipeline.clock.nextTimer() ?? 0) - pipeline.clock.now()));
    }
    if (life.dead) this.deaths += 1;
  }

  async drain(): Promise<void> {
    const { pipeline } = this;
    for (let rounds = 0; rounds < 2_000; rounds++) {
      const next = pipeline.nextEvent();
      if (next === undefined) break;
      await pipeline.clock.advance(Math.max(0, next - pipeline.clock.now()));
      await pipeline.fire();
      for (const tier of tiers) await this.#work(tier);
    }
    expect(pipeline.nextEvent(), iso(pipeline.clock.now())).toBeUndefined();
  }
}

describe("a family that stops on failure, while workers die", () => {
  test.each(seeds)("world %d", async (seed) => {
    const world = new World(seed);
    const { pipeline } = world;
    const task = await pipeline.accept();
    await world.drain();
    const parent = await pipeline.recordOf(task);
    expect(parent.status).toBe(world.isLost ? "failed" : "completed");
    const children = await world.childrenOf(parent);
    expect(children).toHaveLength(world.children.length);
    expect(children.every(({ status }) => isTerminal(status))).toBe(true);
    const count = (status: string) => children.filter((child) => child.status === status).length;
    const { completed, failed, cancelled } = parent.family_counts ?? {};
    expect({ completed, failed, cancelled }).toEqual({
      ...{ completed: count("completed"), failed: count("failed"), cancelled: count("cancelled") },
    });
    const late = world.children.filter(({ delaySeconds }) => delaySeconds === lateSeconds);
    const ranLate = late.filter(({ n }) => world.ran.includes(n));
    if (world.isLost) expect(ranLate, "nothing starts long after the threshold is lost").toEqual([]);
    else expect(cancelled, "nothing is cancelled while the threshold can be reached").toBe(0);
    if (!world.isLost) return;
    world.cured = true;
    await retry(pipeline.ports, parent);
    await world.drain();
    expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", round: 2 });
  });

  test("are many, and many workers die", async () => {
    let [deaths, lost] = [0, 0];
    for (const seed of seeds.slice(0, 20)) {
      const world = new World(seed);
      await world.pipeline.accept();
      await world.drain();
      deaths += world.deaths;
      lost += world.isLost ? 1 : 0;
    }
    expect(deaths).toBeGreaterThan(20);
    expect(lost).toBeGreaterThan(5);
  });
});
