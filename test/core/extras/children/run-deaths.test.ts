import { describe, expect, test } from "vitest";
import * as z from "zod";
import { ChildFailed } from "../../../../src/core/extras/steps/step-tools.ts";
import { iso, type TaskRecord } from "../../../../src/core/model/record.ts";
import { isTerminal } from "../../../../src/core/model/words.ts";
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

/** In a world without deaths, a task goes on within this time after the end of its child, in milliseconds. */
const promptMs = 60_000;

/** A call of the handler. */
type Call =
  | { do: "run"; key: string; fails: boolean; delaySeconds: number }
  | { do: "step"; name: string }
  | { do: "sleep"; seconds: number };

/**
 * A task that runs children, one behind another or beside each other and beside steps and sleeps, whose workers and those of its children die at any
 * call of a port, before or after its effect.
 */
class World {
  readonly dice: Dice;
  readonly deadly: boolean;
  readonly groups: Call[][];
  readonly ran = new Map<string, number>();
  readonly effects = new Map<string, number>();
  readonly outcomes = new Map<string, string>();
  readonly endedMs = new Map<string, number>();
  readonly pipeline: ReturnType<typeof memoryPipeline>;
  readonly mortals: Mortals;
  deaths = 0;
  returns = 0;

  constructor(seed: number) {
    const dice = new Dice(seed);
    this.dice = dice;
    this.deadly = seed % 3 !== 0;
    let calls = 0;
    const draw = (): Call => {
      calls += 1;
      if (dice.chance(0.7)) {
        const delaySeconds = dice.chance(0.3) ? dice.spread(1, 5_000) : 0;
        return { do: "run", key: `run ${calls}`, fails: dice.chance(0.2), delaySeconds };
      }
      return dice.chance(0.5) ? { do: "step", name: `step ${calls}` } : { do: "sleep", seconds: dice.spread(1, 3_000) };
    };
    this.groups = Array.from({ length: dice.int(1, 4) }, () => Array.from({ length: dice.int(1, 5) }, draw));
    this.pipeline = memoryPipeline([typeOf((_, task) => this.#parent(task), { maxAttempts: 20 }), this.#child]);
    const { clock, ports } = this.pipeline;
    const { records, queues, families, steps, blobs, notices, oneOffs, lines } = ports;
    this.mortals = new Mortals(clock, [records, queues, families, steps, blobs, notices, oneOffs, lines]);
  }

  readonly #child = defineTask({
    name: "child",
    input: z.object({ key: z.string(), fails: z.boolean() }),
    maxAttempts: 20,
    handler: async ({ key, fails }, task) => {
      const record = await this.#recordOf(task.taskId);
      expect(isTerminal(record.status), `${key} runs again after its end`).toBe(false);
      this.ran.set(key, (this.ran.get(key) ?? 0) + 1);
      if (fails) throw Object.assign(new Error(`${key} fails`), { kind: "permanent", status: 400 });
      return { of: key };
    },
  });

  async #parent(task: TaskContext): Promise<string> {
    for (const group of this.groups) await Promise.all(group.map((call) => this.#call(task, call)));
    return "done";
  }

  async #call(task: TaskContext, call: Call): Promise<void> {
    if (call.do === "sleep") return task.sleep(call.seconds);
    if (call.do === "step") {
      await task.step(call.name, () => this.effects.set(call.name, (this.effects.get(call.name) ?? 0) + 1).size);
      return;
    }
    const { key, fails, delaySeconds } = call;
    const end = await task
      .run(this.#child, { key, fails }, { key, delaySeconds })
      .then(({ of }) => `completed ${of}`)
      .catch((error: unknown) => {
        if (!(error instanceof ChildFailed)) throw error;
        return `${error.status} ${error.taskId}`;
      });
    await this.#returned(task, call, end);
  }

  /** A run returns when its child has ended, with its end, and the same in each attempt. */
  async #returned(task: TaskContext, { key, fails }: Extract<Call, { do: "run" }>, end: string): Promise<void> {
    this.returns += 1;
    const children = await this.children(await this.#recordOf(task.taskId));
    const child = children.find(({ kept_input, result, error }) =>
      `${kept_input} ${JSON.stringify(result)} ${error}`.includes(`${key}${fails ? " fails" : '"'}`),
    );
    expect(child?.status, `${key} has ended`).toBe(fails ? "failed" : "completed");
    expect(end).toBe(fails ? `failed ${child?.task_id}` : `completed ${key}`);
    expect(this.outcomes.get(key) ?? end, `${key} has one end`).toBe(end);
    this.outcomes.set(key, end);
    const lateMs = this.pipeline.clock.now() - Date.parse(child?.finished_at ?? "");
    if (!this.deadly && !this.endedMs.has(key)) this.endedMs.set(key, lateMs);
  }

  readonly #recordOf = (task_id: string) => this.pipeline.recordOf({ tenant_id: "acme", task_id });

  async children(parent: TaskRecord): Promise<TaskRecord[]> {
    const { childPages } = await import("../../../../src/core/pipeline/end/child-results.ts");
    const found: TaskRecord[] = [];
    for await (const { children } of childPages(this.pipeline.ports, parent)) found.push(...children);
    return found;
  }

  /** Lets a worker take what is visible, until it is done or dead. */
  async #work(): Promise<void> {
    const { dice, pipeline, mortals } = this;
    const dies = this.deadly && this.deaths < 8 && dice.chance(0.5);
    const life: Life = {
      ...{ left: dies ? dice.spread(1, 60) : Number.POSITIVE_INFINITY, calls: 0 },
      ...{ diesAfter: dice.chance(0.5), dead: false },
    };
    let over = false;
    void mortals.run(life, async () => {
      await pipeline.work();
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

  async run(): Promise<TaskRecord> {
    const { pipeline } = this;
    const task = await pipeline.accept();
    for (let rounds = 0; rounds < 2_000; rounds++) {
      const next = pipeline.nextEvent();
      if (next === undefined) break;
      await pipeline.clock.advance(Math.max(0, next - pipeline.clock.now()));
      await pipeline.fire();
      await this.#work();
    }
    expect(pipeline.nextEvent(), iso(pipeline.clock.now())).toBeUndefined();
    return pipeline.recordOf(task);
  }
}

describe("children that are run, while workers die", () => {
  test.each(seeds)("world %d", async (seed) => {
    const world = new World(seed);
    const task = await world.run();
    expect(task).toMatchObject({ status: "completed", result: "done" });
    const runs = world.groups.flat().filter((call) => call.do === "run");
    const children = await world.children(task);
    expect(children).toHaveLength(runs.length);
    for (const child of children) expect(isTerminal(child.status)).toBe(true);
    for (const { key } of runs) expect(world.ran.get(key) ?? 0).toBeGreaterThan(0);
    if (world.deadly) return;
    for (const { key } of runs) expect(world.ran.get(key)).toBe(1);
    for (const count of world.effects.values()) expect(count).toBe(1);
    expect(task.attempts).toBe(1);
    for (const lateMs of world.endedMs.values()) expect(lateMs).toBeLessThan(promptMs);
  });

  test("are many, and many workers die", async () => {
    let [deaths, returns] = [0, 0];
    for (const seed of seeds.slice(0, 20)) {
      const world = new World(seed);
      await world.run();
      deaths += world.deaths;
      returns += world.returns;
    }
    expect(deaths).toBeGreaterThan(20);
    expect(returns).toBeGreaterThan(50);
  });
});
