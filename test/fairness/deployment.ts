import * as z from "zod";
import { profiles } from "../../lib/profile.ts";
import { createGate } from "../../src/core/limits/gate.ts";
import { type Limits, noLimits } from "../../src/core/limits/limits.ts";
import { callbackFault } from "../../src/core/notify/callback-url.ts";
import { type NotifyPorts, notify } from "../../src/core/notify/notify.ts";
import { workBatch } from "../../src/core/pipeline/work/work.ts";
import { fire } from "../../src/core/schedules/fire.ts";
import { MemorySlowHosts } from "../../src/memory/deliveries.ts";
import { MemoryLimits } from "../../src/memory/limits.ts";
import { MemoryConnections, MemorySocket } from "../../src/memory/push.ts";
import { MemoryReceivers } from "../../src/memory/receivers.ts";
import { MemoryUsage } from "../../src/memory/usage.ts";
import { operator } from "../support/identities.ts";
import { queueVisibilitySeconds, workerSeconds } from "../support/memory-pipeline.ts";
import { allParts } from "../support/parts/all.ts";
import { schedulesPipeline } from "../support/schedules-pipeline.ts";
import { type Ask, appsOf, ask } from "../support/served.ts";
import { typeOf } from "../support/task-types.ts";
import { Places } from "./places.ts";
import { slowed } from "./slowed.ts";

/** Time of the answer of a good receiver, and of a short task, in milliseconds. */
const shortMs = 50;

/** Bytes of a request that the gateway and a function take in a millisecond, with their decoding. */
const requestBytesPerMs = 100_000;

const tier = "normal";

/** Random numbers that are the same each time. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/** A deployment to attack. */
export interface Target {
  /** Limits of the tenant acme. Default: none. */
  limits?: Limits;
  /** Time of the answer of an attacker's receiver, in milliseconds, by the number of the request. */
  answerMs?: (number: number) => number;
  /** Connections of acme that hear its tasks and do not read: each try to send to one takes a second. */
  deafConnections?: number;
}

/**
 * A deployment of the profile `standard` in memory, on a clock of its own: the real core behind as many invocations of
 * each function as AWS runs at the same time. Each call of the table, the bucket and the queues takes time. An
 * invocation takes one message, as queues hand them out while few wait, so that an attack holds as many invocations as
 * it can. The notify queue is served as SQS's fair queues are, by the tenants' messages under way; the tiers' queue in
 * the order of its messages.
 */
export function deploymentOf({ limits = {}, answerMs = () => 0, deafConnections = 0 }: Target) {
  const wait = (ms: number) => new Promise<void>((resolve) => void base.clock.after(ms, resolve));
  const types = [
    typeOf(() => wait(shortMs), { name: "short" }),
    typeOf(() => wait(600_000), { name: "long", timeoutSeconds: 840 }),
    typeOf(() => wait(shortMs), {
      name: "form",
      input: z.strictObject({ n: z.int() }),
      files: { data: { required: false } },
    }),
    typeOf(
      async (_, task) => {
        for (let number = 0; ; number++) await task.waitFor(`go-${number}`, { timeoutSeconds: 800 });
      },
      { name: "waits" },
    ),
  ];
  const base = schedulesPipeline(types, [], [], allParts);
  const { clock, log, queues, notices, records, steps } = base;
  const slow = <Port extends object>(port: Port) => slowed(port, clock);
  const usage = slow(new MemoryUsage());
  const connections = new MemoryConnections(clock);
  const socket = new MemorySocket();
  const stores = { records: slow(records), queues: slow(queues), blobs: slow(base.blobs), steps: slow(steps) };
  const small = { uploads: slow(base.uploads), blobList: slow(base.blobList), notices: slow(notices) };
  const gatePorts = {
    clock,
    log,
    usage,
    records: stores.records,
    limits: slow(new MemoryLimits()),
    depths: stores.queues,
  };
  const gate = createGate(gatePorts, { ...noLimits, tenants: { acme: limits } });
  const ports = {
    ...base.ports,
    ...stores,
    ...small,
    gate,
    scheduleGate: gate,
    deliveries: slow(base.ports.deliveries),
    schedules: slow(base.ports.schedules),
    newCorrelationId: base.ports.newId,
    callbackFault: async (url: string) => callbackFault(url, []),
  };
  const apps = appsOf(ports);

  const webhookDelays: { tenant: string; ms: number }[] = [];
  let attacked = 0;
  const notifyPorts: Omit<NotifyPorts, "drops"> = {
    ...ports,
    connections: slow(connections),
    receivers: slow(new MemoryReceivers()),
    slowHosts: slow(new MemorySlowHosts()),
    socket: {
      post: async () => {
        await wait(1_000);
        return "busy";
      },
      close: (id) => socket.close(id),
    },
    random: randomOf(7),
    signer: { sign: async () => ({}) },
    sender: {
      send: async (request, signal) => {
        const { data } = JSON.parse(request.body) as { data: { finished_at: string } };
        const tenant = new URL(request.url).hostname.split(".").at(-2) ?? "";
        const ended = wait(tenant === "globex" ? shortMs : answerMs(attacked++)).then(() => ({ status: 200 }));
        const aborted = new Promise<{ error: string }>((resolve) => {
          signal.addEventListener("abort", () => resolve({ error: String(signal.reason) }), { once: true });
        });
        const answer = await Promise.race([ended, aborted]);
        if ("status" in answer) webhookDelays.push({ tenant, ms: clock.now() - Date.parse(data.finished_at) });
        return answer;
      },
    },
  };

  const { api, notify: notifiers, workers } = profiles.standard;
  const apiPlaces = new Places(api);
  const workPlaces = new Places(workers[tier]);
  /** Numbers of the tenants' notices that are under way. */
  const underWay = new Map<string, number>();
  /** The connections that each free process of notify remembers. */
  const processes = Array.from({ length: notifiers }, () => new Map<string, number>());

  /** Paths of the requests that were answered with success. */
  const succeeded: string[] = [];
  const request = (app: "submit" | "control", path: string, given: Ask) =>
    apiPlaces.run(async () => {
      const { raw = "" } = given;
      await wait(1 + raw.length / requestBytesPerMs);
      const answer = await ask(apps[app], path, given);
      if (answer.status < 300) succeeded.push(path);
      return answer;
    });

  const workOne = async (): Promise<void> => {
    const deliveries = queues.take(tier, 1, queueVisibilitySeconds);
    if (deliveries.length === 0) return;
    const [verdict] = await workBatch(ports, deliveries, clock.now() + workerSeconds * 1_000);
    for (const { receiptHandle } of verdict === "done" ? deliveries : []) queues.acknowledge(receiptHandle);
  };
  const work = (): void => {
    let visible = queues.waiting(tier).filter(({ visibleAt }) => visibleAt <= clock.now()).length;
    for (; visible > 0 && !workPlaces.isFull; visible--) void workPlaces.run(workOne).catch(() => {});
  };
  const tell = (): void => {
    const lanes = Map.groupBy(notices.take(), ({ tenant_id }) => tenant_id);
    const next = () => {
      const [lane] = [...lanes].toSorted(([a], [b]) => (underWay.get(a) ?? 0) - (underWay.get(b) ?? 0));
      const notice = lane?.[1].shift();
      if (lane?.[1].length === 0) lanes.delete(lane[0]);
      return notice;
    };
    const count = (tenant: string, more: number) => underWay.set(tenant, (underWay.get(tenant) ?? 0) + more);
    while (lanes.size > 0 && processes.length > 0) {
      const [notice, drops = new Map()] = [next(), processes.shift()];
      if (notice === undefined) break;
      count(notice.tenant_id, 1);
      const done = () => {
        processes.push(drops);
        count(notice.tenant_id, -1);
      };
      void notify({ ...notifyPorts, drops }, notice).then(done, done);
    }
    // What finds no place stays in the queue, before what comes later.
    const left = [...lanes.values()].flat();
    notices.queued.unshift(...left.map((notice) => ({ notice, visibleAt: clock.now() })));
  };

  /** Lets a second pass. `each` is called in each of its hundredths. */
  const second = async (each: (part: number) => void = () => {}): Promise<void> => {
    for (let part = 0; part < 100; part++) {
      each(part);
      work();
      tell();
      await clock.advance(10);
    }
    await base.fire();
  };

  /** Fires all schedules for the present minute. */
  const fireSchedules = (): void => {
    const scheduled_for = new Date(clock.now()).toISOString();
    for (const { payload } of base.rules.rules.all().values()) {
      const firing = { ...payload, scheduled_for } as Parameters<typeof fire>[1];
      void fire(ports, firing, clock.now() + 300_000).catch(() => {});
    }
  };

  const connect = async (): Promise<void> => {
    for (let count = 0; count < deafConnections; count++) {
      const of = { tenant_id: "acme", principal: operator.principal, scope: "own" as const };
      const at = new Date(clock.now() - 60_000).toISOString();
      const connection = { ...of, connection_id: `c${count}`, channel_id: "c", connected_at: at };
      await connections.add(connection);
      await connections.announce(connection);
    }
    if (deafConnections > 0) notices.listeners.add(`acme/${operator.principal}`);
  };

  return { ...base, request, second, fireSchedules, connect, succeeded, webhookDelays };
}

export type Deployment = ReturnType<typeof deploymentOf>;
