import type { TaskKey } from "../../src/core/model/record.ts";
import { plainStackOf } from "../../src/core/model/stack.ts";
import type { EntryPorts } from "../../src/core/pipeline/send/keep-entries.ts";
import type { SubmitPorts } from "../../src/core/pipeline/submit/submit-ports.ts";
import type { WorkPorts } from "../../src/core/pipeline/work/work-message.ts";
import type { BlobEntry, BlobList, Blobs } from "../../src/core/ports/blob.ts";
import type { EndPorts } from "../../src/core/ports/extra.ts";
import type { Families } from "../../src/core/ports/family.ts";
import type { WaitQueues } from "../../src/core/ports/flow.ts";
import type { StepOwner, StepStore, StoredEntry } from "../../src/core/ports/steps.ts";
import {
  type Clock,
  type Log,
  noTracing,
  type OneOffs,
  type Queues,
  type Watchdog,
} from "../../src/core/ports/tasks.ts";
import { disk } from "../../src/machine/disk.ts";
import { entryKeyOf } from "./entries.ts";
import { followFor } from "./follow.ts";
import { knownTypes, typesFor } from "./handlers.ts";
import { interruptPortsFor } from "./interrupt-ports.ts";
import type { Invocation } from "./invocation.ts";
import { listsFor } from "./lists.ts";
import { noticesFor } from "./notices.ts";
import { onceFor } from "./once.ts";
import { WiredRecords } from "./records.ts";
import { uniqueKeysFor } from "./unique-keys.ts";
import { request } from "./wire.ts";
import type { World } from "./world.ts";

/** The core's ports for one invocation: every call goes over the wire, and the witness sees what it did. */
export function portsFor(world: World, from: Invocation): SubmitPorts & EndPorts & EntryPorts {
  const steps = stepsFor(world, from, "of the attempt");
  const ports: SubmitPorts & EndPorts & EntryPorts = {
    clock: clockFor(world, from),
    records: new WiredRecords(world, from),
    queues: queuesFor(world, from),
    oneOffs: oneOffsFor(world, from),
    families: familiesFor(world, from),
    steps,
    extras: world.core.extras.followers(stepsFor(world, from, "to keep")),
    blobs: blobsFor(world, from),
    blobList: blobListFor(world, from),
    notices: noticesFor(world, from),
    uniqueKeys: uniqueKeysFor(world, from),
    lists: listsFor(world, from),
    newId: () => newId(world),
    types: knownTypes(world.core),
    submitUnique: world.core.submitUnique.submitUnique,
    log: silent,
    metrics: { add: (name, _, { type }) => world.witness.flow.counted(name, type) },
  };
  // As a handler's submit does. The API leaves it to a worker.
  if (!world.submitsCancel) return ports;
  return { ...ports, supersede: (...given) => world.core.supersede.supersede(ports, ...given) };
}

/** What a worker has beside the common ports. */
export function workPortsFor(world: World, from: Invocation): WorkPorts {
  const ports = portsFor(world, from);
  const follow = followFor(from);
  return {
    ...ports,
    once: onceFor(world, from),
    handlerSchedules: { put: unused, delete: unused },
    registry: world.core.task.registry(typesFor(world, from, ports)),
    random: () => world.dice.next(),
    disk,
    timeScale: 1,
    tracing: noTracing,
    stackOf: plainStackOf,
    watchdog: watchdogFor(world, from),
    loadFollow: () => Promise.resolve(follow),
    ...interruptPortsFor(world, from, ports.clock),
    // Small nodes, so that small families have tall trees.
    nodeSize: 2,
    ...flowPortsFor(world, from),
    createChild: async (parent, ...given) => {
      const child = await world.core.spawnChild.spawnChild(ports)(parent, ...given);
      world.witness.childAccepted(parent, child.task_id);
      return child;
    },
    rejoinChild: (child, family) => world.core.spawnChild.rejoinChild(ports)(child, family),
    submitChild: async (parent, child, key) => {
      const taskId = await world.core.child.submitChild(ports)(parent, child, key);
      world.witness.childAccepted(parent, taskId, child.unique !== undefined);
      return taskId;
    },
  };
}

/** Schedules of handlers are those of clients, which test/core/schedules tries with deaths. */
const unused = () => Promise.reject(new Error("no handler of the worlds makes schedules"));

const silent: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => silent };

const clockFor = (world: World, from: Invocation): Clock => ({
  now: () => world.time.now + from.skewMs,
  after: (delayMs, callback) => {
    const happening = from.process.after(delayMs, callback);
    return () => {
      happening.off = true;
    };
  },
});

/** UUIDs that count up. */
const newId = (world: World): string => {
  const hex = Math.floor(world.dice.next() * 2 ** 48)
    .toString(16)
    .padStart(12, "0");
  return `00000000-0000-7000-8000-${hex}`;
};

function queuesFor(world: World, from: Invocation): Queues {
  const { queues, story, witness } = world;
  const ask = <T>(what: () => string, apply: () => T, answer?: (value: T) => string) =>
    request(world, from, { service: "queue", what, apply, ...(answer === undefined ? {} : { answer }) });
  return {
    send: async (message) => {
      witness.touched(from, message.envelope);
      const { delaySeconds, solo, redrives } = message;
      const details = `${delaySeconds > 0 ? ` in ${delaySeconds} s` : ""}${solo ? " solo" : ""}${redrives > 0 ? ` redrives ${redrives}` : ""}`;
      const what = () => `sends ${story.name(message.envelope.task_id)} to ${message.tier}${details}`;
      await ask(
        what,
        () => {
          witness.costs.sent(from, message.envelope.task_id, message.ticket?.isBackup === true);
          witness.unique.sent(from, message.envelope.task_id);
          return queues.send(message);
        },
        (id) => `m${id}`,
      );
    },
    sendCheck: async (message) => {
      const what = () => `sends a check of ${message.check.line} to ${message.tier} in ${message.delaySeconds} s`;
      await ask(
        what,
        () => {
          if (message.check.line.startsWith("places/")) witness.flow.successors += 1;
          return queues.sendCheck(message);
        },
        (id) => `m${id}`,
      );
    },
    hold: async (_tier, messages) => {
      const holds = () => messages.map((one) => `m${one.receiptHandle.split(":")[0]} ${one.seconds} s`).join(", ");
      await ask(
        () => `holds ${holds()}`,
        () => queues.hold(messages),
      );
    },
    deadLetter: async (tier, letter, tenantId) => {
      witness.burying(letter, tenantId);
      const { original_message: original } = letter;
      const what = () => `dead-letters ${typeof original === "string" ? "garbage" : story.name(original.task_id)}`;
      await ask(what, () => {
        queues.dead.push({ tier, letter });
      });
    },
  };
}

/** Lines, settings, and what the process knows of them. */
export function flowPortsFor(
  world: World,
  from: Invocation,
): Pick<WorkPorts, "lines" | "flowSettings" | "flow" | "limiter" | "audit" | "bucketSize" | "maxInOne" | "shareMs"> {
  const clock = clockFor(world, from);
  const flowSettings = asking(world, from, "settings", world.flowSettings);
  const lines = asking<WaitQueues>(world, from, "lines", world.lines);
  const { FlowBook } = world.core.flowBook;
  const audit = asking(world, from, "audit", world.audit);
  const { bucketSize, maxInOne, shareMs } = world;
  return {
    ...{ lines, flowSettings, audit, flow: new FlowBook({ clock, log: silent, flowSettings }) },
    limiter: world.core.limits.limiter,
    ...(bucketSize !== undefined && { bucketSize }),
    ...(maxInOne !== undefined && { maxInOne: maxInOne }),
    ...(shareMs !== undefined && { shareMs }),
  };
}

/** Sends each call of a port over the wire. */
function asking<Port extends object>(world: World, from: Invocation, name: string, port: Port): Port {
  const ask = askingOf(world, from);
  const get = (target: Port, method: string | symbol) => {
    const call = Reflect.get(target, method) as (...given: unknown[]) => Promise<unknown>;
    const what = (given: unknown[]) => `${name}.${String(method)} ${JSON.stringify(given).slice(0, 200)}`;
    return (...given: unknown[]) =>
      ask(
        () => what(given),
        () => call.apply(target, given),
      );
  };
  return new Proxy(port, { get });
}

function oneOffsFor(world: World, from: Invocation): OneOffs {
  const { schedules } = world;
  const ask = <T>(what: string, apply: () => T) =>
    request(world, from, { service: "scheduler", what: () => what, apply });
  return {
    create: async (oneOff) => {
      if (oneOff.payload.kind === "task") world.witness.touched(from, oneOff.payload);
      await ask(`schedules ${oneOff.name} at ${oneOff.at}`, () => schedules.create(oneOff));
    },
    delete: (name) => ask(`unschedules ${name}`, () => schedules.delete(name)),
  };
}

/** Sends requests to a port in memory whose methods return promises. */
const askingOf =
  (world: World, from: Invocation) =>
  async <T>(what: () => string, apply: () => Promise<T>): Promise<T> =>
    (await request(world, from, { service: "table", what, apply: () => ({ answer: heard(apply()) }) })).answer;

/** An answer that is lost on its way may be a refusal, which nobody hears. */
function heard<T>(answer: Promise<T>): Promise<T> {
  answer.catch(() => {});
  return answer;
}

/** @param use An attempt's own, or those of the extras, which keep the entries of a task that waits. */
function stepsFor(world: World, from: Invocation, use: "of the attempt" | "to keep"): StepStore {
  const { entries: store, story, witness } = world;
  const ask = <T>(
    owner: StepOwner,
    what: "load" | "submits" | "keep" | "add" | "state",
    text: string,
    apply: () => T,
    answer?: (value: T) => string,
    key?: string,
  ) => {
    witness.touched(from, owner);
    if (use === "of the attempt") witness.steps.requested(from, owner, what, key);
    else if (what === "load") witness.steps.readToKeep(from, owner);
    return request(world, from, {
      service: "table",
      what: () => `${text} of ${story.name(owner.task_id)}`,
      apply,
      ...(answer === undefined ? {} : { answer }),
    });
  };
  return {
    load: async (owner, kind) => {
      const list = (entries: StoredEntry[]) => entries.map(entryKeyOf).join() || "none";
      const what = kind === "submit" ? "submits" : "load";
      return ask(owner, what, `reads the ${kind ?? ""} entries`, () => store.load(owner, kind), list);
    },
    add: async (owner, entry, purgeAt) => {
      const apply = () => {
        const { stored, added } = store.add(owner, entry, purgeAt);
        if (added) witness.steps.entryStored(owner, entry);
        return stored;
      };
      const key = entryKeyOf(entry);
      const text = `stores ${key} ${entry.until ?? entry.value ?? ""}`;
      return ask(owner, "add", text, apply, ({ until, value }) => until ?? value ?? "undefined", key);
    },
    saveState: async (owner, state, purgeAt) => {
      const apply = () => {
        const saved = store.saveState(owner, state, purgeAt);
        const { by } = JSON.parse(state.value) as { by: number };
        if (saved) witness.steps.stateStored(owner, by, state.value);
        return saved;
      };
      return ask(owner, "state", `stores the state ${state.value}`, apply, (saved) => (saved ? "done" : "no"));
    },
    keep: async (owner, entries, purgeAt) => {
      const text = `keeps ${entries.length} entries until ${world.core.record.iso(purgeAt * 1000)}`;
      return ask(owner, "keep", text, () => store.keep(owner, entries, purgeAt));
    },
  };
}

/** The bucket. It is down together with the table. */
function blobsFor(world: World, from: Invocation): Blobs {
  const { blobs } = world;
  const ask = askingOf(world, from);
  return {
    put: (key, ...given) =>
      ask(
        () => `puts the object ${key}`,
        () => {
          world.witness.stored(key);
          return blobs.put(key, ...given);
        },
      ),
    read: (key, ...given) => {
      world.witness.readsInput(from);
      return ask(
        () => `reads the object ${key}`,
        () => blobs.read(key, ...given),
      );
    },
    head: (key) =>
      ask(
        () => `looks at the object ${key}`,
        () => blobs.head(key),
      ),
    delete: (key) =>
      ask(
        () => `deletes the object ${key}`,
        () => blobs.delete(key),
      ),
    presignPut: (...given) => blobs.presignPut(...given),
    presignGet: (...given) => blobs.presignGet(...given),
  };
}

function blobListFor(world: World, from: Invocation): BlobList {
  const { blobList } = world;
  const ask = askingOf(world, from);
  const of = (day: string, { key, task_id, upload_id }: BlobEntry) =>
    `${key} of ${task_id === undefined ? `upload ${upload_id}` : world.story.name(task_id)} in the list of ${day}`;
  return {
    add: (day, entry) =>
      ask(
        () => `adds ${of(day, entry)}`,
        () => {
          world.witness.listed.add(entry.key);
          return blobList.add(day, entry);
        },
      ),
    page: (day, shard, options) =>
      ask(
        () => `reads shard ${shard} of the list of ${day}`,
        () => blobList.page(day, shard, options),
      ),
    remove: (day, entry) =>
      ask(
        () => `removes ${of(day, entry)}`,
        () => blobList.remove(day, entry),
      ),
  };
}

function familiesFor(world: World, from: Invocation): Families {
  const { families, story } = world;
  const ask = askingOf(world, from);
  const of = ({ task_id }: TaskKey, node: string) => `${node} of ${story.name(task_id)}`;
  return {
    end: (parent, node, place, text) =>
      ask(
        () => `ends place ${place} of ${of(parent, node)} as ${text}`,
        () => families.end(parent, node, place, text),
      ),
    seal: (parent, node, sealing, attempt) =>
      ask(
        () => `seals ${of(parent, node)} for attempt ${attempt}: ${JSON.stringify(sealing)}`,
        () => {
          world.witness.steps.sealed(parent.task_id, attempt);
          return families.seal(parent, node, sealing, attempt);
        },
      ),
    read: (parent, node) =>
      ask(
        () => `reads ${of(parent, node)}`,
        () => families.read(parent, node),
      ),
    pages: (family, from, most) =>
      ask(
        () => `loads the pages ${of(family, `from ${from}`)}`,
        () => families.pages(family, from, most),
      ),
    savePage: (family, number, page, before, purgeAt) =>
      ask(
        () => `stores the page ${of(family, `${number}`)} behind ${before}: ${JSON.stringify(page)}`,
        () => families.savePage(family, number, page, before, purgeAt),
      ),
    notePage: (family, number, created, round) =>
      ask(
        () => `notes ${created} children of round ${round} in the page ${of(family, `${number}`)}`,
        () => families.notePage(family, number, created, round),
      ),
    keep: (family, number, leaf, purgeAt) =>
      ask(
        () => `keeps the page ${of(family, `${number}`)}`,
        () => families.keep(family, number, leaf, purgeAt),
      ),
  };
}

/** A thread of its own looks every half a second and kills the process; if the whole machine stands still, the thread does too. */
const watchdogFor = (world: World, from: Invocation): Watchdog => ({
  guard: (untilMs) => {
    let armed = true;
    const kill = () => {
      if (!armed) return;
      if (from.troubledUntil === 0 && !from.process.stood) {
        world.witness.violated(`the watchdog killed ${from.name}, which had no trouble`);
      }
      from.process.kill("killed by its watchdog");
    };
    const inMs = untilMs - from.skewMs - world.time.now + 1;
    const happening = from.process.after(inMs, () => from.process.after(world.dice.int(0, 500), kill));
    return () => {
      armed = false;
      happening.off = true;
    };
  },
});
