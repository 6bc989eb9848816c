import { expect, test } from "vitest";
import type { Identity } from "../../../src/core/model/identity.ts";
import { type NotifyPorts, notify } from "../../../src/core/notify/notify.ts";
import { MemorySlowHosts } from "../../../src/memory/deliveries.ts";
import { MemoryConnections, MemorySocket } from "../../../src/memory/push.ts";
import { MemoryReceivers } from "../../../src/memory/receivers.ts";
import { memoryPipeline, operator, typeOf } from "../../support/memory-pipeline.ts";

/*
 * The delay of one tenant's webhooks while another tenant attacks the function that sends them, on a clock of its own:
 * the queue's messages go to at most 40 invocations at the same time, as on AWS. Each takes one message, as the queue hands
 * them out while few wait, so that an attack holds as many invocations as it can.
 */

/** Invocations at the same time of the profile `standard`. */
const invocations = 40;

/** Time of a request to AWS or to a good receiver, in milliseconds. */
const requestMs = 50;

/** Attacks run for this time, in seconds. */
const attackSeconds = 120;

const globex: Identity = { tenantId: "globex", principal: "gina", role: "operator" };

/** An attack on the function, as it is in each second. */
interface Attack {
  /** Tasks that end in each second. */
  perSecond: number;
  /** URL of the webhook of a task, by its number. Undefined: it has none. */
  url?: (number: number) => string;
  /** Time of its receiver's answer to a request, in milliseconds, by its number. */
  answerMs?: (number: number) => number;
  /** Connections that hear the tasks and do not read. Each try to send to one of them takes a second. */
  connections?: number;
}

/** Returns the median and the 99th percentile of the delays of globex's webhooks, in milliseconds. */
async function delaysUnder({ perSecond, url, answerMs = () => 0, connections: deaf = 0 }: Attack) {
  const pipeline = memoryPipeline([typeOf(() => 7)]);
  const { clock, notices } = pipeline;
  const connections = new MemoryConnections(clock);
  const socket = new MemorySocket();
  const wait = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve));
  for (let count = 0; count < deaf; count++) {
    const of = { tenant_id: "acme", principal: operator.principal, scope: "own" as const };
    const connection = { ...of, connection_id: `c${count}`, channel_id: "c", connected_at: "2026-12-31T00:00:00.000Z" };
    await connections.add(connection);
    await connections.announce(connection);
  }
  if (deaf > 0) notices.listeners.add(`acme/${operator.principal}`);
  const delays: number[] = [];
  let attacked = 0;
  const ports: Omit<NotifyPorts, "drops"> = {
    ...pipeline.ports,
    ...{ connections, receivers: new MemoryReceivers(), slowHosts: new MemorySlowHosts() },
    socket: {
      post: async () => {
        await wait(1_000);
        return "busy";
      },
      close: (id) => socket.close(id),
    },
    signer: { sign: async () => ({}) },
    sender: {
      send: async (request, signal) => {
        const { data } = JSON.parse(request.body) as { data: { finished_at: string } };
        const isGood = request.url.startsWith("https://globex");
        const ended = wait(isGood ? requestMs : answerMs(attacked++)).then(() => ({ status: 200 }));
        const aborted = new Promise<{ error: string }>((resolve) => {
          signal.addEventListener("abort", () => resolve({ error: String(signal.reason) }), { once: true });
        });
        const answer = await Promise.race([ended, aborted]);
        if (isGood) delays.push(clock.now() - Date.parse(data.finished_at));
        return answer;
      },
    },
  };

  /** What each process that is free remembers of connections. */
  const free = Array.from({ length: invocations }, () => new Map<string, number>());
  /** Starts invocations for the messages that are visible, as long as processes are free. */
  const poll = () => {
    const visible = notices.take();
    while (visible.length > 0 && free.length > 0) {
      const [notice, drops] = [visible.shift(), free.shift()];
      if (notice === undefined || drops === undefined) break;
      const done = () => void free.push(drops);
      notify({ ...ports, drops }, notice).then(done, done);
    }
    // What finds no place stays in the queue, before what comes later.
    notices.queued.unshift(...visible.map((notice) => ({ notice, visibleAt: clock.now() })));
  };
  const end = async (count: number, identity: Identity, callbackOf: (number: number) => object | undefined) => {
    for (let each = 0; each < count; each++) {
      const callback = callbackOf(each);
      await pipeline.accept(callback === undefined ? {} : { callback }, { identity });
      await pipeline.work();
    }
  };
  for (let second = 0; second < attackSeconds; second++) {
    const first = second * perSecond;
    await end(perSecond, operator, (each) => (url === undefined ? undefined : { url: url(first + each) }));
    await end(1, globex, () => ({ url: "https://globex.example/hook" }));
    for (let part = 0; part < 100; part++) {
      poll();
      await clock.advance(10);
    }
    await pipeline.fire();
  }
  const sorted = delays.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.POSITIVE_INFINITY;
  return { webhooks: sorted.length, p50: at(0.5), p99: at(0.99) };
}

const attacks: Record<string, Attack> = {
  "a receiver with one slow answer": {
    perSecond: 10,
    url: () => "https://acme.example/hook",
    answerMs: (number) => (number === 0 ? 1_200 : requestMs),
  },
  "a receiver that hangs": { perSecond: 20, url: () => "https://acme.example/hook", answerMs: () => 60_000 },
  "hanging receivers, each with a host of its own": {
    perSecond: 20,
    url: (number) => `https://n${number}.acme.example/hook`,
    answerMs: () => 60_000,
  },
  "a thousand connections that do not read": { perSecond: 20, connections: 1_000 },
};

test.each(Object.entries(attacks))(
  "%s: another tenant's webhooks take at most 1.5 times as long",
  async (_, attack) => {
    const quiet = await delaysUnder({ perSecond: 0 });
    const { webhooks, p50, p99 } = await delaysUnder(attack);
    console.log(JSON.stringify({ attack: _, quiet, webhooks, p50, p99 }));
    expect(webhooks).toBe(quiet.webhooks);
    expect(p50 / quiet.p50, `${p50} ms`).toBeLessThanOrEqual(1.5);
    expect(p99 / quiet.p99, `${p99} ms`).toBeLessThanOrEqual(1.5);
  },
);
