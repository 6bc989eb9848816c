import type { NotifyPorts } from "../../src/core/notify/notify.ts";
import type { Notice, Notices, WebhookAnswer, WebhookRequest, WebhookSender } from "../../src/core/ports/notify.ts";
import type { Deliveries, SlowHosts } from "../../src/core/ports/webhooks.ts";
import { MemoryDeliveries, MemorySlowHosts } from "../../src/memory/deliveries.ts";
import type { MemoryReceivers } from "../../src/memory/receivers.ts";
import type { Invocation } from "./invocation.ts";
import { receiverTable } from "./receivers.ts";
import { newInvocation } from "./serve.ts";
import { useUp } from "./weather.ts";
import { request } from "./wire.ts";
import type { World } from "./world.ts";

/** The notify function's time-out, and the time for which its queue hides a message, in seconds. */
const functionSeconds = 30;
const hiddenSeconds = 180;

/** Receives after which the queue gives a message up. */
const mostReceives = 20;

interface Message {
  id: number;
  notice: string;
  visibleAt: number;
  receives: number;
}

/** The notify queue with its function, and the receivers of webhooks. */
export class NoticeStage {
  readonly deliveries = new MemoryDeliveries();
  readonly slowHosts = new MemorySlowHosts();
  readonly receivers: MemoryReceivers;
  readonly #messages = new Map<number, Message>();
  #nextId = 1;
  #running = 0;

  /** @param hasReceivers True: the tenants have receivers of webhooks. */
  constructor(hasReceivers: boolean) {
    this.receivers = receiverTable(hasReceivers);
  }

  /** Number of messages that are left. */
  get left(): number {
    return this.#messages.size;
  }

  send(world: World, notices: readonly Notice[], delaySeconds: number): void {
    for (const notice of notices) {
      const id = this.#nextId++;
      const visibleAt = world.time.now + delaySeconds * 1000;
      this.#messages.set(id, { id, notice: JSON.stringify(notice), visibleAt, receives: 0 });
      world.time.at(visibleAt + world.dice.int(1, 20), () => this.#poll(world));
    }
  }

  #poll(world: World): void {
    const { time, dice, weather, witness } = world;
    const visible = [...this.#messages.values()].filter(({ visibleAt }) => visibleAt <= time.now);
    if (this.#running >= 3 || visible.length === 0) return;
    const batch = dice.shuffle(visible).slice(0, dice.int(1, 3));
    for (const message of batch) {
      message.receives += 1;
      const twice = useUp(weather, dice.chance(weather.duplicate));
      message.visibleAt = time.now + (twice ? dice.spread(1, 10_000) : hiddenSeconds * 1000);
      time.at(message.visibleAt + 1, () => this.#poll(world));
      if (message.receives > mostReceives && world.outages.count === 0) {
        witness.violated("a notice was received too often");
        this.#messages.delete(message.id);
      }
    }
    this.#invoke(world, batch);
    time.after(0, () => this.#poll(world));
  }

  #invoke(world: World, batch: readonly Message[]): void {
    const { time, core } = world;
    const { process, invoke } = newInvocation(world, "notify", "notify");
    const invocation = invoke();
    this.#running += 1;
    let over = false;
    const end = () => {
      if (over) return;
      over = true;
      this.#running -= 1;
      world.processes.living.delete(process);
      time.after(0, () => this.#poll(world));
    };
    const deadline = time.after(functionSeconds * 1000, () => process.kill("the function's time-out"));
    process.onDeath(end);
    const ports = notifyPortsFor(world, invocation);
    const handled = batch.map((message) =>
      core.notify.notify(ports, JSON.parse(message.notice)).then(
        () => [message],
        () => [],
      ),
    );
    void Promise.all(handled).then((done) => {
      deadline.off = true;
      if (!useUp(world.weather, world.dice.chance(world.weather.loseResponse))) {
        for (const { id } of done.flat()) this.#messages.delete(id);
      }
      end();
    });
  }
}

/** The notify queue as one invocation reaches it. */
export function noticesFor(world: World, from: Invocation): Notices {
  const { witness, story, stage } = world;
  return {
    events: world.events,
    send: async (notices, delaySeconds = 0) => {
      const nameOf = (notice: Notice) => (notice.kind === "key_revoked" ? notice.key_id : story.name(notice.task_id));
      const what = () => notices.map((notice) => `tells of ${nameOf(notice)}: ${notice.kind}`).join();
      const apply = () => {
        for (const notice of notices) witness.told.notice(notice);
        stage.send(world, notices, delaySeconds);
      };
      await request(world, from, { service: "queue", what, apply });
    },
    receives: async (tenantId) => (await stage.receivers.list(tenantId)).length > 0,
    hears: ({ tenant_id, requested_by }) =>
      request(world, from, {
        service: "table",
        what: () => `looks for channels of ${requested_by}`,
        apply: () => world.heard.has(`${tenant_id}/${requested_by}`),
      }),
  };
}

/** Ports of the notify function. */
function notifyPortsFor(world: World, from: Invocation): NotifyPorts {
  return {
    ...world.portsFor(world, from),
    deliveries: deliveriesFor(world, from),
    receivers: receiversFor(world, from),
    slowHosts: slowHostsFor(world, from),
    sender: receiverFor(world, from),
    signer: { sign: async (_, id) => ({ "webhook-id": id }) },
    random: () => world.dice.next(),
    timeScale: 1,
    eventBus: { put: async (events) => events.map(() => undefined) },
    connections: { hearing: async () => [], remove: async () => {} },
    socket: { post: async () => "gone", close: async () => {} },
    drops: new Map(),
  };
}

function deliveriesFor(world: World, from: Invocation): Pick<Deliveries, "get" | "put"> {
  const { deliveries } = world.stage;
  const ask = <T>(what: () => string, apply: () => Promise<T>): Promise<T> =>
    request(world, from, { service: "table", what, apply: () => ({ answer: apply() }) }).then(({ answer }) => answer);
  const name = (taskId: string) => world.story.name(taskId);
  return {
    get: (key, id) =>
      ask(
        () => `reads the delivery of ${name(key.task_id)}`,
        () => deliveries.get(key, id),
      ),
    put: (delivery, expected) =>
      ask(
        () => `puts ${delivery.tries.length} tries of ${name(delivery.task_id)}: ${delivery.state}`,
        () => deliveries.put(delivery, expected),
      ),
  };
}

function receiversFor(world: World, from: Invocation): NotifyPorts["receivers"] {
  const { receivers } = world.stage;
  const ask = <T>(what: string, apply: () => Promise<T>): Promise<T> =>
    request(world, from, { service: "table", what: () => what, apply: () => ({ answer: apply() }) }).then(
      ({ answer }) => answer,
    );
  return {
    get: (...asked) => ask("reads a receiver", () => receivers.get(...asked)),
    list: (...asked) => ask("lists receivers", () => receivers.list(...asked)),
    put: (...asked) => ask("puts a receiver", () => receivers.put(...asked)),
    log: (...asked) => ask("logs a delivery", () => receivers.log(...asked)),
  };
}

function slowHostsFor(world: World, from: Invocation): SlowHosts {
  const { slowHosts } = world.stage;
  const ask = <T>(what: string, apply: () => Promise<T>): Promise<T> =>
    request(world, from, { service: "table", what: () => what, apply: () => ({ answer: apply() }) }).then(
      ({ answer }) => answer,
    );
  return {
    areSlow: (...asked) => ask("looks which hosts are slow", () => slowHosts.areSlow(...asked)),
    markSlow: (...asked) => ask("marks a host as slow", () => slowHosts.markSlow(...asked)),
    acquirePermit: (...asked) => ask("takes a place at a slow host", () => slowHosts.acquirePermit(...asked)),
    releasePermit: (...given) => ask("gives a place at a slow host back", () => slowHosts.releasePermit(...given)),
  };
}

/** A receiver that is well, refuses, hangs, or cannot be reached. */
const receiverFor = (world: World, from: Invocation): WebhookSender => ({
  send: (sent, signal) =>
    new Promise<WebhookAnswer>((resolve) => {
      const { dice } = world;
      const give = (answer: WebhookAnswer) => from.process.after(dice.int(0, 200), () => resolve(answer));
      const onAbort = () => give({ error: String((signal.reason as Error).message) });
      if (signal.aborted) return onAbort();
      signal.addEventListener("abort", onAbort, { once: true });
      from.process.after(dice.int(1, 50), () => {
        const answer = answerTo(world, from, sent);
        if (answer !== "none") give(answer);
      });
    }),
});

/** Answer of the receiver to a request. `none`: it hangs. */
function answerTo(
  { dice, story, time, witness }: World,
  from: Invocation,
  sent: WebhookRequest,
): WebhookAnswer | "none" {
  const draw = dice.next();
  if (draw < 0.05) return { error: "the connection was refused" };
  story.tell(time.now, from.name, () => `posts a webhook ${sent.headers["webhook-id"]?.slice(0, 8)}`);
  const accepts = draw < 0.6;
  witness.told.posted(sent, accepts);
  if (draw > 0.9) return "none";
  if (accepts) return { status: 204 };
  return { status: draw < 0.62 ? 410 : 500 };
}
