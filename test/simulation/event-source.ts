import type { Verdict } from "../../src/core/ports/queues.ts";
import type { Delivery } from "../../src/core/ports/tasks.ts";
import { workerTimeoutSeconds } from "../../src/settings/config.ts";
import { BatchLaws } from "./batch-laws.ts";
import type { Invocation } from "./invocation.ts";
import { portsFor, workPortsFor } from "./ports.ts";
import { type QueueName, queueNames } from "./queues.ts";
import { newInvocation, type Serving } from "./serve.ts";
import { useUp } from "./weather.ts";
import type { World } from "./world.ts";

/** Redrive's time-out, in seconds. */
const redriveSeconds = 60;

/** The event sources of the worker and redrive functions: each takes what its queue shows and deletes what was done. */
export class EventSources {
  readonly #world: World;
  readonly #sources: ReadonlyMap<QueueName, Source>;

  constructor(world: World) {
    this.#world = world;
    this.#sources = new Map(queueNames.map((queue) => [queue, new Source(world, queue)]));
  }

  /** Something in a queue becomes visible at that moment. */
  wake(queue: QueueName, atMs: number): void {
    this.#world.time.at(atMs + this.#world.dice.spread(1, 20), () => this.#sources.get(queue)?.poll());
  }
}

class Source {
  readonly #world: World;
  readonly #queue: QueueName;
  readonly #atOnce: number;
  readonly #batch: number;
  #running = 0;
  readonly #laws: BatchLaws;
  #idle: Serving[] = [];

  constructor(world: World, queue: QueueName) {
    this.#world = world;
    this.#queue = queue;
    this.#laws = new BatchLaws(world);
    this.#atOnce = world.dice.int(1, 3);
    this.#batch = world.dice.pick([1, 3, 10]);
  }

  poll(): void {
    const { time, outages, queues } = this.#world;
    const stoppedUntil = outages.until("workers", time.now);
    if (stoppedUntil !== undefined) return void time.at(stoppedUntil, () => this.poll());
    if (this.#running >= this.#atOnce) return;
    const deliveries = queues.receive(this.#queue, this.#batch);
    if (deliveries.length === 0) return;
    for (const delivery of deliveries) this.#laws.received(delivery);
    this.#start(deliveries);
    time.after(0, () => this.poll());
  }

  #start(deliveries: Delivery[]): void {
    const { time, dice, story, witness } = this.#world;
    const list = () => deliveries.map((one) => `m${one.messageId} (${one.receiveCount}. time)`).join(", ");
    const obstacle = this.#obstacle();
    if (obstacle !== undefined) {
      story.tell(time.now, this.#queue, () => `✗ ${obstacle}, with ${list()}`);
      return;
    }
    const { process, invoke } = this.#environment();
    const invocation: Invocation = this.#queue === "redrive" ? invoke() : { ...invoke(), tier: this.#queue };
    // A slow start takes a part of the function's time.
    const startSeconds = dice.chance(0.3) ? dice.spread(1, 60) : 0;
    const seconds = this.#queue === "redrive" ? redriveSeconds : workerTimeoutSeconds - startSeconds;
    story.tell(time.now, invocation.name, () => `gets ${list()}`);
    this.#running += 1;
    const batch = this.#laws.begin(invocation, deliveries, this.#queue === "redrive" ? 0 : seconds);
    const deadline = time.after(seconds * 1000, () => process.kill("the function's time-out"));
    let answered = false;
    const over = once(() => {
      this.#running -= 1;
      this.#laws.over(batch);
      deadline.off = true;
      time.after(0, () => this.poll());
    });
    process.onDeath(() => {
      if (!answered) witness.costs.deaths += 1;
      over();
    });
    const give = (verdicts: Verdict[]) => {
      answered = true;
      invocation.answered = true;
      story.tell(time.now, invocation.name, () => `answers ${verdicts.join(", ")}`);
      this.#laws.answered(batch, verdicts);
      this.#acknowledge(deliveries, verdicts);
      if (invocation.interrupted) process.kill("an attempt in it did not stop");
      else if (dice.chance(0.7)) this.#idle.push({ process, invoke });
      else time.after(dice.spread(1000, 600_000), () => process.kill("is not needed any more"));
      over();
    };
    this.#work(invocation, deliveries, seconds).then(give, (error: unknown) => {
      witness.violated(`the ${this.#queue} function threw: ${String(error)}`);
      over();
    });
  }

  /** What keeps a batch that was taken from its function. */
  #obstacle(): string | undefined {
    const { time, dice, weather, outages } = this.#world;
    if (this.#queue === "redrive") return undefined;
    if (useUp(weather, dice.chance(weather.throttle))) return "is throttled";
    return outages.until("bundle", time.now) === undefined ? undefined : "its worker dies as it starts";
  }

  #work(invocation: Invocation, deliveries: Delivery[], seconds: number): Promise<Verdict[]> {
    const { core, time, dice } = this.#world;
    if (this.#queue !== "redrive") {
      const deadlineMs = time.now + invocation.skewMs + seconds * 1000;
      return core.work.workBatch(workPortsFor(this.#world, invocation), deliveries, deadlineMs);
    }
    const ports = { ...portsFor(this.#world, invocation), random: () => dice.next(), timeScale: 1 };
    return core.redrive.redriveBatch(ports, deliveries);
  }

  /** A process of earlier invocations, or a new one. */
  #environment(): Serving {
    this.#idle = this.#idle.filter(({ process }) => process.alive);
    return (
      this.#idle.pop() ?? newInvocation(this.#world, this.#queue === "redrive" ? "redrive" : "worker", this.#queue)
    );
  }

  #acknowledge(deliveries: readonly Delivery[], verdicts: readonly Verdict[]): void {
    const { time, dice, weather, queues, story } = this.#world;
    if (useUp(weather, dice.chance(weather.loseResponse))) {
      story.tell(time.now, this.#queue, () => "✗ its answer is lost: nothing is deleted");
      return;
    }
    for (const [index, delivery] of deliveries.entries()) {
      if (verdicts[index] === "done") time.after(dice.int(0, 5), () => queues.delete(delivery.receiptHandle));
    }
  }
}

function once(call: () => void): () => void {
  let called = false;
  return () => {
    if (called) return;
    called = true;
    call();
  };
}
