import { describe, expect, test } from "vitest";
import { cancelOperation } from "../../../src/core/control/change-operation.ts";
import { cancel, retry } from "../../../src/core/control/control.ts";
import { matchTasksByFilter } from "../../../src/core/control/match-tasks.ts";
import type { TaskRecord } from "../../../src/core/model/record.ts";
import { Dice } from "../../simulation/dice.ts";
import { type Life, Mortals } from "../../support/mortal.ts";
import { operationsPipeline } from "../../support/operations-pipeline.ts";

/** More worlds, and others: `OFFLOAD_WORLDS=3000 OFFLOAD_SEED=20000`. */
const worlds = Number(process.env.OFFLOAD_WORLDS ?? 100);
const seeds = Array.from({ length: worlds }, (_, index) => index + Number(process.env.OFFLOAD_SEED ?? 0));

/** Calls of ports that an operation makes for each task and for each attempt, at most. */
const mostCalls = (matched: number, attempts: number) => 12 * matched + attempts * (40 + 12 * 10);

/** Time within which an operation that was asked to stop does so, in milliseconds: a worker hears of it with its heartbeat. */
const mostStopMs = 10_000;

/**
 * An operation on tasks of which some match, whose workers die at any call of a port, before or after its effect, while operators retry and cancel tasks
 * of it, tasks fail again, and somebody may abort it.
 */
class World {
  readonly dice: Dice;
  readonly pipeline = operationsPipeline();
  readonly mortals: Mortals;
  readonly action: "cancel" | "retry";
  matched: readonly TaskRecord[] = [];
  others: readonly TaskRecord[] = [];
  operationId = "";
  attempts = 0;
  deaths = 0;
  calls = 0;
  readonly deadly: boolean;
  readonly aborting: boolean;
  abortedAtMs: number | undefined;
  actedAtAbort = 0;
  /** Retries of each task by operators. */
  readonly retried = new Map<string, number>();
  /** Tasks that an operator has cancelled. */
  readonly cancelled = new Set<string>();

  constructor(seed: number) {
    this.dice = new Dice(seed);
    const { clock, ports } = this.pipeline;
    this.action = this.dice.pick(["cancel", "retry"]);
    this.deadly = this.dice.chance(0.7);
    this.aborting = this.dice.chance(0.5);
    const { records, queues, families, steps, blobs, notices, oneOffs, lines } = ports;
    this.mortals = new Mortals(clock, [records, queues, families, steps, blobs, notices, oneOffs, lines]);
  }

  async begin(): Promise<void> {
    const { dice, pipeline, action } = this;
    const count = dice.int(1, 35);
    const make = async (type: string, amount: number) => {
      if (action === "retry") return pipeline.deadLetter(amount, { type });
      const body = { type, input: { n: 1 }, delay_seconds: 20 * 86_400 };
      return Promise.all(Array.from({ length: amount }, () => pipeline.accept(body)));
    };
    this.matched = await make("order.ship", count);
    this.others = await make("mail.send", dice.int(0, 5));
    const matched = await matchTasksByFilter(pipeline.ports, "acme", action, { type: "order.ship" });
    expect(matched.length).toBe(count);
    const perSecond = action === "retry" && dice.chance(0.4) ? dice.int(1, 20) : undefined;
    this.operationId = await pipeline.start(action, {}, { matched, perSecond });
  }

  newLife(): Life {
    const { dice, matched } = this;
    const dies = this.deadly && this.attempts < 12 && dice.chance(0.7);
    const calls = dice.chance(0.5) ? dice.spread(1, 100) : dice.int(10, 10 + 8 * matched.length);
    return { left: dies ? calls : Number.POSITIVE_INFINITY, calls: 0, diesAfter: dice.chance(0.5), dead: false };
  }

  /** Lets one worker take the operation, until it is done or dead. */
  async attempt(): Promise<void> {
    const { dice, pipeline } = this;
    const { clock } = pipeline;
    const life = this.newLife();
    let over = false;
    void this.mortals.run(life, async () => {
      await pipeline.work("high");
      over = true;
    });
    this.attempts += 1;
    for (let turns = 0; !over && !life.dead; turns++) {
      if (turns > 20_000) throw new Error("an attempt never ends");
      await clock.advance(0);
      if (over) break;
      await clock.advance(Math.max(0, (clock.nextTimer() ?? clock.now()) - clock.now()));
      await clock.advance(0);
      if (dice.chance(0.1)) await this.interfere();
      if (this.aborting && dice.chance(0.1)) await this.abort();
      await this.look();
    }
    this.calls += life.calls;
    if (life.dead) this.deaths += 1;
  }

  /** An operation that was asked to stop acts on no task much later. */
  async look(): Promise<void> {
    if (this.abortedAtMs === undefined) return;
    const acted = await this.acted();
    const late = this.pipeline.clock.now() - this.abortedAtMs > mostStopMs;
    if (late) expect(acted, "tasks changed after the abort").toBe(this.actedAtAbort);
    else this.actedAtAbort = acted;
  }

  /** Number of tasks that the operation itself has changed. */
  async acted(): Promise<number> {
    const now = await Promise.all(this.matched.map((record) => this.pipeline.recordOf(record)));
    const times = now.map(({ task_id, round, status }) =>
      this.action === "retry"
        ? round - 1 - (this.retried.get(task_id) ?? 0)
        : Number(status === "cancelled" && !this.cancelled.has(task_id)),
    );
    expect(Math.max(...times), "times that a task was retried").toBeLessThanOrEqual(1);
    return times.reduce((sum, each) => sum + each, 0);
  }

  async interfere(): Promise<void> {
    const { dice, pipeline, matched } = this;
    const record = await pipeline.recordOf(dice.pick(matched as [TaskRecord]));
    if (this.action === "retry" && dice.chance(0.5)) {
      await pipeline.work("normal");
    } else if (this.action === "retry" && record.status === "failed") {
      await retry(pipeline.ports, record);
      this.retried.set(record.task_id, (this.retried.get(record.task_id) ?? 0) + 1);
    } else if (this.action === "cancel" && record.status === "pending") {
      await cancel(pipeline.ports, record);
      this.cancelled.add(record.task_id);
    }
  }

  async abort(): Promise<void> {
    const { pipeline, operationId } = this;
    const record = await pipeline.recordOf({ tenant_id: "acme", task_id: operationId });
    if (this.abortedAtMs !== undefined || !["pending", "processing"].includes(record.status)) return;
    await cancelOperation(pipeline.ports, record, "corr-1");
    this.abortedAtMs = pipeline.clock.now();
    this.actedAtAbort = await this.acted();
  }

  async run(): Promise<void> {
    const { pipeline, dice } = this;
    for (let tries = 0; tries < 60; tries++) {
      await this.attempt();
      const seen = await pipeline.view(this.operationId);
      if (["completed", "failed", "cancelled"].includes(seen?.status ?? "")) return;
      if (this.aborting && dice.chance(0.4)) await this.abort();
      // Tasks that the dead worker has retried fail again in the meantime.
      if (this.action === "retry" && dice.chance(0.5)) await pipeline.work("normal");
      // The message of a dead worker is hidden for so long.
      await pipeline.clock.advance(5_400_000);
    }
  }

  async judge(): Promise<void> {
    const { pipeline, matched, others, action, retried, cancelled } = this;
    const view = await pipeline.view(this.operationId);
    // One that stops by itself, as all that it started failed again, is cancelled, too.
    const mayStop = this.abortedAtMs !== undefined || view?.stopped !== undefined;
    expect(view?.status).toMatch(mayStop ? /^(completed|cancelled)$/ : /^completed$/);
    const { done = 0, skipped = 0, failed = 0 } = view ?? {};
    const isWhole = view?.status === "completed";
    expect(failed).toBe(0);
    if (isWhole) expect(done + skipped).toBe(matched.length);
    const acted = await this.acted();
    const touched = new Set([...retried.keys(), ...cancelled]).size;
    if (isWhole) expect(acted).toBeGreaterThanOrEqual(matched.length - touched);
    // After a death, a task that somebody else has changed may count as done.
    expect(done).toBeGreaterThanOrEqual(acted);
    expect(done).toBeLessThanOrEqual(acted + (this.deaths === 0 ? 0 : touched));
    for (const record of await Promise.all(others.map((one) => pipeline.recordOf(one)))) {
      expect(record).toMatchObject({ status: action === "retry" ? "failed" : "pending", round: 1 });
    }
    expect(this.calls).toBeLessThanOrEqual(mostCalls(matched.length, this.attempts));
  }
}

describe("an operation whose workers die at any call", () => {
  test.each(seeds)("acts once on each task, counts it once, and ends (seed %i)", async (seed) => {
    const world = new World(seed);
    await world.begin();
    await world.run();
    await world.judge();
    expect(world.attempts).toBeGreaterThan(0);
  });
});
