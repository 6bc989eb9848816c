import { FlowBook } from "../../src/core/extras/limits/flow-book.ts";
import { tiers } from "../../src/core/model/words.ts";
import { redriveBatch } from "../../src/core/pipeline/work/redrive.ts";
import { workBatch } from "../../src/core/pipeline/work/work.ts";
import type { WorkPorts } from "../../src/core/pipeline/work/work-message.ts";
import { maxReceiveCount } from "../../src/settings/config.ts";
import { type Pipeline, queueVisibilitySeconds, workerSeconds } from "./memory-pipeline.ts";

const never = <T>() => new Promise<T>(() => {});

/** Ports of a process that dies: from then on no call returns and no timer comes. */
function mortalPorts(ports: WorkPorts, flow: FlowBook) {
  let dead = false;
  const wrapped = <T extends object>(port: T): T =>
    new Proxy(port, {
      get: (target, name) => {
        const member = Reflect.get(target, name) as unknown;
        if (typeof member !== "function") return member;
        return (...given: unknown[]) => {
          if (dead) return never();
          const result = (member as (...given: unknown[]) => unknown).apply(target, given);
          return result instanceof Promise ? result.then((value) => (dead ? never() : value)) : result;
        };
      },
    });
  const { clock, records, queues, lines, flowSettings, once, steps } = ports;
  const own: WorkPorts = {
    ...ports,
    flow,
    records: wrapped(records),
    queues: wrapped(queues),
    lines: wrapped(lines),
    flowSettings: wrapped(flowSettings),
    once: wrapped(once),
    steps: wrapped(steps),
    clock: { now: () => clock.now(), after: (ms, call) => clock.after(ms, () => !dead && call()) },
  };
  return {
    ports: own,
    die: () => {
      dead = true;
    },
  };
}

/**
 * Workers that receive each message as it becomes visible, as many at the same time as there are messages.
 * @param options.apart True: each is a process that knows of lines what it has seen itself. Otherwise all are one.
 */
export function workerPool(pipeline: Pipeline, { batch = 1, apart = false } = {}) {
  const { queues, clock, ports } = pipeline;
  const living = new Set<{ die(): void }>();
  /** The knowledge of processes that wait for a batch. A process that dies takes its own along. */
  const idle = [ports.flow];

  const start = (deliveries: ReturnType<typeof queues.take>) => {
    const spent = deliveries.filter(({ receiveCount }) => receiveCount > maxReceiveCount);
    const fresh = deliveries.filter((delivery) => !spent.includes(delivery));
    const flow = apart ? (idle.pop() ?? new FlowBook(ports)) : ports.flow;
    const process = mortalPorts(ports, flow);
    living.add(process);
    const working = Promise.all([
      workBatch(process.ports, fresh, clock.now() + workerSeconds * 1000),
      redriveBatch(process.ports, spent),
    ]);
    void working.then(([worked, redriven]) => {
      living.delete(process);
      idle.push(flow);
      const verdicts = [...worked, ...redriven];
      for (const [index, { receiptHandle }] of [...fresh, ...spent].entries()) {
        if (verdicts[index] === "done") queues.acknowledge(receiptHandle);
      }
    });
  };

  /** Starts work on all visible messages. Returns false when there are none. */
  const poll = (): boolean => {
    let found = false;
    for (const tier of tiers) {
      for (let more = true; more; ) {
        const deliveries = queues.take(tier, batch, queueVisibilitySeconds);
        more = deliveries.length > 0;
        if (more) start(deliveries);
        found ||= more;
      }
    }
    return found;
  };

  /** Lets time pass, in steps of at most `stepMs`. */
  const pass = async (ms: number, stepMs = 1_000): Promise<void> => {
    const untilMs = clock.now() + ms;
    while (clock.now() < untilMs) {
      // What a message of this moment does can send another one for this moment.
      for (let quietTurns = 0; quietTurns < 3; ) {
        quietTurns = poll() ? 0 : quietTurns + 1;
        await clock.advance(0);
      }
      const visible = tiers.map((tier) => queues.nextVisibleAt(tier)).filter((at) => at > clock.now());
      const next = Math.min(untilMs, clock.now() + stepMs, clock.nextTimer() ?? untilMs, ...visible);
      await clock.advance(Math.max(1, next - clock.now()));
    }
  };

  return {
    pass,
    /** Lets one of the working processes die. */
    kill: (pick: (count: number) => number) => {
      const all = [...living];
      const victim = all[pick(all.length)];
      victim?.die();
      if (victim !== undefined) living.delete(victim);
    },
  };
}
