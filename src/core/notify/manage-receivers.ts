import * as z from "zod";
import type { CountRequest } from "../limits/gate.ts";
import { Overtaken } from "../model/errors.ts";
import { fieldProblem } from "../model/field-problem.ts";
import { parseInput } from "../model/invalid.ts";
import { Problem } from "../model/problem.ts";
import { iso } from "../model/record.ts";
import { type Identity, receiverEvents } from "../model/words.ts";
import { type FlowSettings, receiversName, settingsKnownMs } from "../ports/flow.ts";
import type { Notices } from "../ports/notify.ts";
import type { Clock, NewId, Page } from "../ports/tasks.ts";
import type { Deliveries, Delivery, LogQuery, Receiver, ReceiverKey, Receivers } from "../ports/webhooks.ts";
import type { KnownType } from "../task/catalog.ts";
import { healthy, logDelivery, receiverDeliveryId, testType } from "./receivers.ts";
import { nextVersion, TooManyRotations } from "./secret.ts";

/** The most receivers of a tenant: each end of a task is delivered to all of them at the same time. */
const maxReceivers = 20;

/** Tries to change a receiver whose health changes at the same time. */
const maxTries = 5;

/** A test is kept for this time, in seconds. */
const testSeconds = 2 * 86_400;

const url = z.string().min(1).describe("`https`, at most 2,048 characters, as in a `callback`.");
const events = z
  .array(z.enum(receiverEvents))
  .min(1)
  .refine((given) => new Set(given).size === given.length, "expected each event once")
  .meta({ uniqueItems: true })
  .describe("The ends of tasks that it is told of. Default: all four.");
const types = z
  .array(z.string().min(1).max(128))
  .min(1)
  .max(100)
  .nullable()
  .describe("The types of the tasks. Null, the default: all.");
const description = z.string().max(256).nullable().describe("A text for people.");

/** Body of `POST /webhooks`. */
export const newReceiverSchema = z.strictObject({
  url,
  events: events.default([...receiverEvents]),
  types: types.default(null),
  description: description.default(null),
});

/** Body of `PATCH /webhooks/{webhook_id}`. */
export const receiverChangeSchema = z
  .strictObject({
    url: url.optional(),
    events: events.optional(),
    types: types.optional(),
    description: description.optional(),
    enabled: z
      .boolean()
      .optional()
      .describe("False: no webhooks. True: webhooks again, and its failures are forgotten."),
  })
  .refine((body) => Object.keys(body).length > 0, { message: "expected at least one field" })
  .meta({ minProperties: 1 });

export interface ReceiverPorts {
  clock: Clock;
  newId: NewId;
  receivers: Receivers;
  flowSettings: Pick<FlowSettings, "put" | "remove">;
  /** The reason why a URL is refused. Undefined: it is accepted. */
  urlFault: (url: string) => string | undefined | Promise<string | undefined>;
  types: ReadonlyMap<string, KnownType>;
}

/**
 * Creates a receiver. When it returns, each process knows of it: no later end of a task is missed.
 * @throws Problem `invalid_input`, `quota_exceeded`; PortUnavailable
 */
export async function createReceiver(ports: ReceiverPorts, identity: Identity, body: unknown): Promise<Receiver> {
  const given = parseInput(newReceiverSchema, body);
  await check(ports, given);
  const { tenantId, principal } = identity;
  const others = await ports.receivers.list(tenantId);
  if (others.length >= maxReceivers) {
    throw new Problem("quota_exceeded", `This tenant already has ${maxReceivers} receivers, which is the maximum.`, {
      retryAfterSeconds: 3_600,
    });
  }
  const now = iso(ports.clock.now());
  const receiver: Receiver = {
    ...given,
    ...{ tenant_id: tenantId, webhook_id: ports.newId(), enabled: true },
    ...{ secret_version: 1, rotated_at: [], revision: 1 },
    ...{ created_by: principal, created_at: now, updated_at: now },
  };
  await ports.receivers.put(receiver, 0);
  await mark(ports, tenantId);
  // Where others are, the mark was there before.
  if (others.length === 0) await new Promise<void>((resolve) => ports.clock.after(settingsKnownMs, resolve));
  return receiver;
}

const mark = ({ flowSettings }: Pick<ReceiverPorts, "flowSettings">, tenantId: string): Promise<void> =>
  flowSettings.put({ kind: "receivers", name: receiversName(tenantId) });

/** @throws Problem `invalid_input` */
async function check(
  ports: ReceiverPorts,
  given: { url?: string | undefined; types?: readonly string[] | null | undefined },
) {
  const fault = given.url === undefined ? undefined : await ports.urlFault(given.url);
  if (fault !== undefined) throw fieldProblem("url", fault);
  const at = given.types?.findIndex((name) => !ports.types.has(name)) ?? -1;
  if (at >= 0) throw fieldProblem(`types/${at}`, "no task type has this name");
}

/** @throws Problem `not_found`; PortUnavailable */
export async function findReceiver(
  { receivers }: Pick<ReceiverPorts, "receivers">,
  key: ReceiverKey,
): Promise<Receiver> {
  const found = await receivers.get(key);
  if (found === undefined) throw new Problem("not_found", "There is no receiver of webhooks with this id.");
  return found;
}

/**
 * Changes a receiver that others may change at the same time. @throws Problem `not_found`; Overtaken;
 * PortUnavailable
 */
async function change(
  ports: Pick<ReceiverPorts, "clock" | "receivers">,
  key: ReceiverKey,
  next: (current: Receiver) => Receiver,
): Promise<Receiver> {
  for (let tries = 0; tries < maxTries; tries++) {
    const current = await findReceiver(ports, key);
    const revision = current.revision + 1;
    const after = { ...next(current), revision, updated_at: iso(ports.clock.now()) };
    if (await ports.receivers.put(after, current.revision)) return after;
  }
  throw new Overtaken("receiver");
}

/**
 * Changes a receiver: replaces each given field. `enabled: true` forgets its failures, and so does
 * another URL, to which they do not belong; it does not enable a disabled receiver.
 * @throws Problem `not_found`, `invalid_input`; Overtaken; PortUnavailable
 */
export async function changeReceiver(ports: ReceiverPorts, key: ReceiverKey, body: unknown): Promise<Receiver> {
  const given = parseInput(receiverChangeSchema, body);
  await check(ports, given);
  const fields = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return change(ports, key, (current) => {
    const isOther = given.url !== undefined && given.url !== current.url;
    if (given.enabled === true || (isOther && current.enabled)) return { ...healthy(current), ...fields };
    return { ...current, ...fields };
  });
}

/**
 * Deletes a receiver. Tries that are under way end; later ones are given up.
 * @throws Problem `not_found`; PortUnavailable
 */
export async function deleteReceiver(ports: ReceiverPorts, key: ReceiverKey): Promise<void> {
  await findReceiver(ports, key);
  await ports.receivers.delete(key);
  const isLast = async () => (await ports.receivers.list(key.tenant_id)).length === 0;
  if (!(await isLast())) return;
  await ports.flowSettings.remove(receiversName(key.tenant_id));
  // Another request may have created one meanwhile.
  if (!(await isLast())) await mark(ports, key.tenant_id);
}

/**
 * Makes a new secret. The earlier ones sign for 24 hours after their rotation.
 * @throws Problem `not_found`, `conflict`; Overtaken; PortUnavailable
 */
export const rotateReceiverSecret = (
  ports: Pick<ReceiverPorts, "clock" | "receivers">,
  key: ReceiverKey,
): Promise<Receiver> =>
  change(ports, key, (current) => {
    const { secret_version: version, rotated_at } = current;
    try {
      const next = nextVersion({ version, rotated_at }, ports.clock.now(), `the receiver ${key.webhook_id}`);
      return { ...current, secret_version: next.version, rotated_at: next.rotated_at };
    } catch (error) {
      throw error instanceof TooManyRotations ? new Problem("conflict", error.message) : error;
    }
  });

export interface TestPorts extends Pick<ReceiverPorts, "clock" | "newId" | "receivers"> {
  deliveries: Pick<Deliveries, "put">;
  notices: Pick<Notices, "send">;
  /** Absent: tests have no rate. */
  countRequest?: CountRequest;
}

/**
 * Sends a webhook that tests a receiver, with the tries of any other one. Returns the id of its delivery.
 * @throws Problem `not_found`, `conflict` when it is disabled, `rate_limited`; PortUnavailable
 */
export async function testReceiver(ports: TestPorts, key: ReceiverKey): Promise<string> {
  const { url, enabled, ...receiver } = await findReceiver(ports, key);
  if (!enabled) throw new Problem("conflict", "The receiver is disabled; enable it first.");
  const { tenant_id, webhook_id } = receiver;
  await ports.countRequest?.(tenant_id);
  const now = iso(ports.clock.now());
  const id = receiverDeliveryId(ports.newId(), webhook_id);
  const delivery: Delivery = {
    // No task has the id of a receiver.
    ...{ tenant_id, task_id: webhook_id, id, type: testType, url, receiver_id: webhook_id },
    body: JSON.stringify({ type: testType, timestamp: now, data: { webhook_id, tenant_id } }),
    ...{ state: "pending", tries: [], series_from: 0, created_at: now, next_try_at: now },
    purge_at: Math.ceil(ports.clock.now() / 1000) + testSeconds,
  };
  await logDelivery(ports.receivers, key, delivery);
  await ports.deliveries.put(delivery, -1);
  await ports.notices.send([{ kind: "try", tenant_id, task_id: webhook_id, id, number: 1 }]);
  return id;
}

export interface LogPorts {
  receivers: Pick<Receivers, "logged">;
  deliveries: Pick<Deliveries, "getMany">;
}

/**
 * Deliveries of a receiver, newest first. A page may have fewer than its limit: those whose task's retention has ended
 * are gone. @throws PortUnavailable
 */
export async function deliveriesOf(ports: LogPorts, key: ReceiverKey, query: LogQuery): Promise<Page<Delivery>> {
  const { items, next } = await ports.receivers.logged(key, query);
  const found = await ports.deliveries.getMany(
    items.map(({ task_id, id }) => ({ tenant_id: key.tenant_id, task_id, id })),
  );
  // A delivery that was logged twice, as its notice came twice, was stored once: with the time of one of the entries.
  const isIts = (one: Delivery | undefined, index: number): one is Delivery => one?.created_at === items[index]?.at;
  return { items: found.filter(isIts), next };
}
