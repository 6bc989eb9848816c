import type { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { DynamoAppScheduleStates } from "../../src/aws/app-schedule-states.ts";
import { DynamoAuditLog } from "../../src/aws/audit-log.ts";
import { DynamoBlobList } from "../../src/aws/blob-list.ts";
import { DynamoCatalog } from "../../src/aws/catalog-store.ts";
import { DynamoChannels } from "../../src/aws/channels.ts";
import { DynamoConnections } from "../../src/aws/connections.ts";
import { DynamoDeliveries } from "../../src/aws/deliveries-store.ts";
import { DynamoDeployments } from "../../src/aws/deployments.ts";
import type { DynamoTable, Item } from "../../src/aws/dynamo-table.ts";
import { DynamoFamilies } from "../../src/aws/families.ts";
import { DynamoFlowSettings } from "../../src/aws/flow-settings.ts";
import { DynamoKeyStore } from "../../src/aws/key-store.ts";
import { DynamoLimitEditor } from "../../src/aws/limit-editor.ts";
import { DynamoLists } from "../../src/aws/lists.ts";
import { DynamoOnceStore } from "../../src/aws/once-store.ts";
import { DynamoReceivers } from "../../src/aws/receivers.ts";
import { DynamoRecords } from "../../src/aws/records.ts";
import { DynamoSchedules } from "../../src/aws/schedules.ts";
import { DynamoSecretVersions } from "../../src/aws/secret-versions.ts";
import { DynamoSignalLinks } from "../../src/aws/signal-links.ts";
import { DynamoStepStore } from "../../src/aws/step-store.ts";
import { DynamoFirings } from "../../src/aws/tenants.ts";
import { DynamoUniqueKeys } from "../../src/aws/unique-keys.ts";
import { DynamoUploads } from "../../src/aws/uploads.ts";
import { DynamoWaitQueues } from "../../src/aws/wait-queues.ts";
import { FlowBook } from "../../src/core/extras/limits/flow-book.ts";
import { breakerAt } from "../../src/core/extras/limits/keyed-breakers.ts";
import { breakerOf, limitsOf, stopOf } from "../../src/core/extras/limits/limit-lines.ts";
import type { Envelope } from "../../src/core/model/envelope.ts";
import type { TaskRecord } from "../../src/core/model/record.ts";
import type { WaitingTask } from "../../src/core/ports/flow.ts";
import { toCatalog } from "../../src/core/task/to-catalog.ts";
import { FakeClock } from "../../src/memory/clock.ts";
import { KeptLog } from "./kept.ts";
import { echo } from "./task-types.ts";

/*
 * One example of each item that Offload stores in its table, written and read by its own store. `test/golden` has what
 * this commit writes; `test/contract/later-forms.test.ts` changes an item as a later release could.
 */

/** Where the examples are. */
export interface Place {
  table: DynamoTable;
  documents: DynamoDBDocumentClient;
}

/** The ways in which a reader treats an item that it cannot read. */
export type Outcome =
  /** It throws `WrittenLater`: what needs the item waits alone. */
  | "waits"
  /** It shows the others. */
  | "left out";

/** An item, as its store writes and reads it. */
export interface StoredForm {
  name: string;
  /** The start of the item's keys, where the store writes others, too. */
  pk?: string;
  sk?: string;
  write(at: Place): Promise<unknown>;
  read(at: Place): Promise<unknown>;
  /** The way in which `read` treats an item in a form of a later release. Default: `waits`. */
  later?: Outcome;
  /** Other changes that a later release could make, by what they are. */
  changes?: Record<string, { change: Item; outcome: Outcome | "read" }>;
}

const at = "2027-01-01T00:00:00.000Z";
const atMs = Date.parse(at);
const purge_at = 2_000_000_000;
const id = (n: number) => `0198f0c2-7a54-7c31-b3a7-${String(n).padStart(12, "0")}`;
const key = { tenant_id: "acme", task_id: id(1) };
const owner = { ...key, created_at: at };
const line = "concurrency/a.b/acme/k";
const pauseLine = "pause/type/a.b";

export const exampleRecord: TaskRecord = {
  ...key,
  ...{ type: "a.b", priority: "normal", status: "completed", requested_by: "olga", correlation_id: "corr" },
  ...{ request_hash: "hash", created_at: at, updated_at: at, started_at: at, finished_at: at, round: 1, attempts: 1 },
  ...{ attempts_total: 2, max_attempts: 5, due_at: at, retention_seconds: 604_800, purge_at, result: { a: [1, null] } },
  ...{ shown_input: '{"input":{"value":1}}', input_version: 2, tags: { color: "blue" } },
  history: [
    {
      ...{ round: 1, number: 1, started_at: at, finished_at: at, outcome: "retried", error: "no", error_type: "Error" },
      ...{ error_kind: "transient", next_attempt_at: at },
    },
  ],
} as TaskRecord;

export const exampleEnvelope = (input: unknown = { value: 1 }): Envelope => ({
  ...{ schema_version: "1.0", message_id: id(2), task_id: id(1), type: "a.b", tenant_id: "acme" },
  ...{ requested_by: "olga", correlation_id: "corr", enqueued_at: at, max_attempts: 5, input_version: 2, input },
});

const waiting = (input?: unknown): WaitingTask => ({
  ...{ id: id(3), tier: "normal", createdAt: at, taskId: id(1), tenantId: "acme", envelope: exampleEnvelope(input) },
  sinceMs: atMs,
});

const other: WaitingTask = { ...waiting(), taskId: id(9), createdAt: "2027-01-01T00:00:01.000Z" };
const lines = ({ table }: Place) => new DynamoWaitQueues(table, () => atMs);
const large = { text: "x".repeat(2_000) };

const book = ({ table }: Place) =>
  new FlowBook({ clock: new FakeClock(), log: new KeptLog(), flowSettings: new DynamoFlowSettings(table) });

const records: StoredForm[] = [
  {
    name: "record",
    sk: "record",
    write: ({ table }) => new DynamoRecords(table).create(exampleRecord, at),
    read: ({ table }) => new DynamoRecords(table).get(key),
    changes: { "a packed result": { change: { result: new Uint8Array([31]) }, outcome: "waits" } },
  },
  {
    name: "record in a list",
    sk: "record",
    write: ({ table }) => new DynamoRecords(table).create(exampleRecord, at),
    read: async ({ table }) => (await new DynamoRecords(table).list({ tenantId: "acme", limit: 10 })).items,
    later: "left out",
    changes: { "a packed result": { change: { result: new Uint8Array([31]) }, outcome: "left out" } },
  },
  ...(
    [
      ["message", "envelope", exampleEnvelope()],
      ["text", "result#1", "a text"],
      ["bytes", "result#2", new Uint8Array([1, 2])],
      [
        "operation",
        "operation",
        { matched: 3, missed: 0, tiers: ["low"], done: 1, skipped: 0, failed: 0, position: 1, window: 1 },
      ],
      ["chunk of an operation", "operation#0", [[id(4), at]]],
    ] as const
  ).map(
    ([name, part, value]): StoredForm => ({
      name: `part: ${name}`,
      write: ({ table }) => new DynamoRecords(table).savePart(key, part, value, purge_at),
      read: ({ table }) => new DynamoRecords(table).loadPart(key, part),
      changes: {
        "another packing": {
          change: { json: undefined, text: undefined, bytes: undefined, zip: "H4s" },
          outcome: "waits",
        },
      },
    }),
  ),
  ...(["step", "try", "sleep", "wait", "signal", "read", "submit", "run"] as const).map(
    (kind): StoredForm => ({
      name: `entry of a task: ${kind}`,
      write: ({ table }) =>
        new DynamoStepStore(table).add(owner, { kind, name: "first", order: 1, value: "[1]" }, purge_at),
      read: ({ table }) => new DynamoStepStore(table).load(owner),
      changes: { "another kind": { change: { kind: "lock" }, outcome: "waits" } },
    }),
  ),
  {
    name: "entry of a task: state",
    write: ({ table }) => new DynamoStepStore(table).saveState(owner, { attempt: 1, order: 1, value: "[1]" }, purge_at),
    read: ({ table }) => new DynamoStepStore(table).load(owner, "state"),
    changes: { "another kind": { change: { kind: "lock" }, outcome: "waits" } },
  },
];

const flow: StoredForm[] = [
  ...[line, pauseLine].map(
    (name): StoredForm => ({
      name: `entry of a line: ${name === line ? "limit" : "pause"}`,
      sk: `waiting#${at}#`,
      write: async (place) => {
        await lines(place).add(name, waiting(), purge_at);
        await lines(place).add(name, other, purge_at);
      },
      read: (place) => lines(place).first(name, 10),
      later: "left out",
      changes: {
        "a packed message": { change: { envelope: "H4sIAAA=" }, outcome: "left out" },
        "another tier": { change: { tier: "bulk" }, outcome: "left out" },
      },
    }),
  ),
  {
    name: "entry of a line, alone",
    sk: "waiting#",
    write: (place) => lines(place).add(line, waiting(), purge_at),
    read: (place) => lines(place).first(line, 10),
    changes: { "a packed message": { change: { envelope: "H4sIAAA=" }, outcome: "waits" } },
  },
  {
    name: "message apart from its entry",
    sk: `waiting#${line}`,
    write: (place) => lines(place).add(line, waiting(large), purge_at),
    read: async (place) => lines(place).withEnvelopes(line, await lines(place).first(line, 10)),
    changes: { "a packed message": { change: { envelope: "H4sIAAA=" }, outcome: "waits" } },
  },
  {
    name: "state of a line: rates by input",
    sk: "state",
    write: (place) => lines(place).noteLimit("rate/a.b/acme/k", { value: { 1: 3, 86400: 2_000 }, atMs }),
    read: (place) => lines(place).state("rate/a.b/acme/k"),
    changes: { "another form": { change: { key_limit_2: 3 }, outcome: "read" } },
  },
  {
    name: "state of a line: limit by input",
    sk: "state",
    write: (place) => lines(place).noteLimit(line, { value: 3, atMs }),
    read: (place) => lines(place).state(line),
    changes: { "another form": { change: { key_limit_2: 3 }, outcome: "read" } },
  },
  {
    name: "state of a line",
    sk: "state",
    write: async (place) => {
      await lines(place).acquirePermits(line, [id(1), id(4)], atMs + 60_000, 5);
      await lines(place).planCheck(line, { id: id(5), atMs: atMs + 1_000 }, undefined);
      await lines(place).awaitPermit(line, { id: id(6), untilMs: atMs + 2_000 }, atMs);
      await lines(place).acquireTokens(line, undefined, atMs + 3_000);
    },
    read: (place) => lines(place).state(line),
  },
  {
    name: "state of a line with a list of rates",
    sk: "state",
    write: (place) =>
      lines(place).acquireTokens("rate/a.b/acme/k", undefined, atMs, {
        ...{ parts: { "86400": [atMs - 7_000, 12, atMs, 3] }, free_ms: atMs + 350, free_by: 86_400 },
      }),
    read: (place) => lines(place).state("rate/a.b/acme/k"),
  },
  {
    name: "setting: pause",
    write: ({ table }) => new DynamoFlowSettings(table).put({ kind: "pause", name: pauseLine, since: at, by: "olga" }),
    read: (place) => stopOf(book(place), { tier: "normal", type: "a.b", tenantId: "acme" }, false),
    changes: { "another form": { change: { form: 2, since: undefined }, outcome: "read" } },
  },
  {
    name: "setting: limits",
    write: ({ table }) =>
      new DynamoFlowSettings(table).put({
        ...{ kind: "limits", name: "limits/a.b", concurrency: 3, rate: { limit: 2, per_seconds: 5 } },
      }),
    read: (place) => limitsOf(book(place), "a.b"),
    changes: {
      "another kind": { change: { kind: "quota" }, outcome: "waits" },
      "places with a bound": { change: { concurrency: { limit: 3, burst: 5 } }, outcome: "waits" },
    },
  },
  {
    name: "setting: limits of a key",
    write: ({ table }) =>
      new DynamoFlowSettings(table).put({
        ...{ kind: "limits", name: "limits/concurrency/a.b/acme/k", concurrency: 3, untilMs: 4_102_444_800_000 },
      }),
    read: (place) => limitsOf(book(place), "a.b", { name: "concurrency/a.b/acme/k" }),
    changes: {
      "another kind": { change: { kind: "quota" }, outcome: "waits" },
      "an end of another form": { change: { untilMs: "tomorrow" }, outcome: "waits" },
    },
  },
  {
    name: "setting: breaker",
    write: ({ table }) => new DynamoFlowSettings(table).countFailure("breaker/a.b/acme", 1, atMs + 1_000, atMs),
    read: (place) => breakerOf(book(place), "a.b", "acme"),
    changes: { "another kind": { change: { kind: "fuse" }, outcome: "waits" } },
  },
  {
    name: "setting: breaker of a key",
    write: ({ table }) => new DynamoFlowSettings(table).countFailure("breaker/a.b/acme/k/1", 1, atMs + 1_000, atMs),
    read: (place) =>
      breakerAt(
        { flow: book(place), flowSettings: new DynamoFlowSettings(place.table) },
        { kind: "breaker", name: "breaker/a.b/acme/k/1" },
      ),
    changes: { "another kind": { change: { kind: "fuse" }, outcome: "waits" } },
  },
  {
    name: "setting: receivers",
    write: ({ table }) => new DynamoFlowSettings(table).put({ kind: "receivers", name: "receivers/acme" }),
    read: (place) => book(place).receives("acme"),
    changes: { "another form": { change: { form: 2 }, outcome: "read" } },
  },
];

const schedule = {
  ...{ tenant_id: "acme", schedule_id: "s1", name: "s", enabled: true, overlap: "allow", cron: "0 * * * *" },
  ...{ timezone: "UTC", task: { type: "a.b", input: { value: 1 } }, state: "active", revision: 1, rule_revision: 1 },
  ...{ request_hash: "hash", created_by: "olga", created_at: at, updated_at: at, enabled_since: at },
  ...{ fired: [], skipped: 0, skips: [] },
} as const;

const schedules: StoredForm[] = [
  {
    name: "schedule",
    write: ({ table }) => new DynamoSchedules(table).create(schedule as never),
    read: ({ table }) => new DynamoSchedules(table).get({ tenant_id: "acme", schedule_id: "s1" }),
    changes: { "a packed task": { change: { task: new Uint8Array([1]) }, outcome: "waits" } },
  },
  {
    name: "schedule in a list",
    write: ({ table }) => new DynamoSchedules(table).create(schedule as never),
    read: async ({ table }) => (await new DynamoSchedules(table).list("acme", { limit: 10 })).items,
    later: "left out",
    changes: { "a packed task": { change: { task: new Uint8Array([1]) }, outcome: "left out" } },
  },
  {
    name: "state of a schedule of the app",
    write: ({ table }) =>
      new DynamoAppScheduleStates(table).save(
        { schedule_id: "s1", tenant_id: "*", revision: 1, fired: [], skipped: 0, skips: [] } as never,
        undefined,
      ),
    read: ({ table }) => new DynamoAppScheduleStates(table).get({ schedule_id: "s1", tenant_id: "*" }),
  },
  {
    name: "progress of a firing",
    write: ({ table }) => new DynamoFirings(table).save("s1", at, { after: "acme" } as never, purge_at),
    read: ({ table }) => new DynamoFirings(table).load("s1", at),
  },
];

const unique = { tenant_id: "acme", type: "a.b", unique_key: "k" };
const once = { tenantId: "acme", key: "order-1", owner: "o" };
const delivery = {
  ...{
    ...key,
    id: "msg_1",
    type: "a.b",
    url: "https://example.com/",
    body: '{"a":1}',
    state: "failed",
    series_from: 0,
  },
  ...{ created_at: at, purge_at, tries: [{ at, duration_ms: 12, status: 500 }] },
} as const;
const receiver = {
  ...{ tenant_id: "acme", webhook_id: id(7), url: "https://example.com/", events: ["task.failed"], types: null },
  ...{ description: null, enabled: true, secret_version: 1, rotated_at: [], revision: 1, created_by: "olga" },
  ...{ created_at: at, updated_at: at },
} as const;
const channel = { channel_id: id(8), tenant_id: "acme", principal: "olga", scope: "own" } as const;
const connection = { ...channel, connection_id: "c=", connected_at: at };
const blob = { key: `acme/${id(1)}/result-1`, ...key };

const others: StoredForm[] = [
  {
    name: "API key",
    sk: "key",
    write: ({ table }) =>
      new DynamoKeyStore(table).add({
        ...{
          key_id: "abcdefgh",
          secret_hash: "00",
          tenant_id: "acme",
          role: "operator",
          label: "night",
          created_at: at,
        },
      }),
    read: ({ table }) => new DynamoKeyStore(table).find("abcdefgh"),
  },
  {
    name: "API key in a list",
    sk: "key",
    write: ({ table }) =>
      new DynamoKeyStore(table).add({ key_id: "abcdefgh", secret_hash: "00", tenant_id: "acme", role: "operator" }),
    read: ({ table }) => new DynamoKeyStore(table).list("acme"),
    later: "left out",
  },
  {
    name: "limits of a tenant",
    pk: "limits#",
    write: ({ table }) => new DynamoLimitEditor(table).change("acme", { submits_per_second: 5 }),
    read: ({ table }) => new DynamoLimitEditor(table).ofTenant("acme"),
  },
  {
    name: "unique key",
    write: ({ table }) =>
      new DynamoUniqueKeys(table).take(
        unique,
        { task_id: id(1), created_at: at, unsent: exampleEnvelope() },
        undefined,
        purge_at,
      ),
    read: ({ table }) => new DynamoUniqueKeys(table).holder(unique),
    changes: { "a packed message": { change: { unsent: "H4s" }, outcome: "waits" } },
  },
  {
    name: "page of collected inputs",
    sk: `list#${at}#0001`,
    write: ({ table }) =>
      new DynamoLists(table).add(
        { tenant_id: "acme", task_id: id(1), created_at: at },
        { number: 1, first: 1, bytesBefore: 0 },
        [{ id: id(2), text: '{"a":1}' }],
        { bytes: 600, inputs: 10 },
        purge_at,
      ),
    read: ({ table }) => new DynamoLists(table).last({ tenant_id: "acme", task_id: id(1), created_at: at }),
  },
  {
    name: "result of `task.once`",
    write: async ({ table }) => {
      const store = new DynamoOnceStore(table);
      await store.begin({ ...once, nowIso: at, untilIso: at, purgeAt: purge_at });
      await store.finish({ ...once, value: { a: 1 }, purgeAt: purge_at });
    },
    read: ({ table }) =>
      new DynamoOnceStore(table).begin({ ...once, owner: "p", nowIso: at, untilIso: at, purgeAt: purge_at }),
    changes: { "a packed value": { change: { value: "H4s" }, outcome: "waits" } },
  },
  {
    name: "node of a family",
    write: async ({ table }) => {
      const families = new DynamoFamilies(table);
      await families.end(key, "1.0", 7, "c", purge_at);
      await families.seal(key, "1.0", { members: 9, round: 1 } as never, 1, purge_at);
    },
    read: ({ table }) => new DynamoFamilies(table).read(key, "1.0"),
  },
  {
    name: "page of a family",
    write: ({ table }) =>
      new DynamoFamilies(table).savePage(
        { ...key, life: at },
        1,
        { first: 0, keys: ["a", null], prints: "xy", attempt: 1 },
        0,
        purge_at,
      ),
    read: ({ table }) => new DynamoFamilies(table).pages({ ...key, life: at }, 1),
  },
  {
    name: "delivery of a webhook",
    write: ({ table }) => new DynamoDeliveries(table).put(delivery as never, -1),
    read: ({ table }) => new DynamoDeliveries(table).get(key, "msg_1"),
  },
  {
    name: "delivery of a webhook in a list",
    write: ({ table }) => new DynamoDeliveries(table).put(delivery as never, -1),
    read: async ({ table }) => (await new DynamoDeliveries(table).listFailed({ tenantId: "acme", limit: 5 })).items,
    later: "left out",
  },
  {
    name: "receiver of webhooks",
    write: ({ table }) => new DynamoReceivers(table).put(receiver as never, 0),
    read: ({ table }) => new DynamoReceivers(table).list("acme"),
  },
  {
    name: "secret of webhooks",
    write: ({ table }) => new DynamoSecretVersions(table).put("acme", { version: 2, rotated_at: [at] }),
    read: ({ table }) => new DynamoSecretVersions(table).get("acme"),
  },
  {
    name: "upload",
    write: ({ table }) =>
      new DynamoUploads(table).create({
        ...{ tenant_id: "acme", upload_id: id(7), requested_by: "olga", key: "acme/uploads/a", content_type: "a/b" },
        ...{ size_bytes: 5, created_at: at, expires_at: at, purge_at },
      }),
    read: ({ table }) => new DynamoUploads(table).get("acme", id(7)),
  },
  {
    name: "channel",
    write: ({ table }) => new DynamoChannels(table).create("hash", channel, atMs + 60_000),
    read: ({ table }) => new DynamoChannels(table).redeem("hash", "c=", atMs),
    changes: { "another scope": { change: { scope: "family" }, outcome: "waits" } },
  },
  {
    name: "link of a signal",
    write: ({ table }) =>
      new DynamoSignalLinks(table).create(
        "hash",
        { tenant_id: "acme", task_id: id(1), created_at: at, name: "approved", schema: '{"type":"object"}' },
        atMs + 60_000,
      ),
    read: ({ table }) => new DynamoSignalLinks(table).find("hash", atMs),
  },
  {
    name: "connection",
    sk: "connection",
    write: async ({ table }) => {
      await new DynamoConnections(table).add(connection);
      await new DynamoConnections(table).announce(connection);
    },
    read: ({ table }) => new DynamoConnections(table).find("c="),
  },
  {
    name: "entry of a list of objects",
    write: ({ table }) => new DynamoBlobList(table).add("2027-01-01", blob),
    read: async ({ table }) => {
      const list = new DynamoBlobList(table);
      const pages = Array.from({ length: 16 }, (_, shard) =>
        list.page("2027-01-01", shard, { limit: 10, from: undefined }),
      );
      return (await Promise.all(pages)).flatMap(({ items }) => items);
    },
    later: "left out",
  },
  {
    name: "act of an operator",
    write: ({ table }) =>
      new DynamoAuditLog(table).add({
        ...{ tenant_id: "acme", at, audit_id: "1", actor: "olga", role: "operator", action: "pause" },
        ...{ target: { type: "a.b" }, request: { reason: "x" }, correlation_id: "corr" },
      } as never),
    read: async ({ table }) => (await new DynamoAuditLog(table).list({ tenantId: "acme", limit: 10 })).items,
    later: "left out",
    changes: { "a packed request": { change: { request: new Uint8Array([1]) }, outcome: "left out" } },
  },
  {
    name: "deployment that has ended",
    write: ({ table }) =>
      new DynamoDeployments(table).note({ started_at: at, deployed_at: at, version: "0.1.0", rolled_back: true }),
    read: ({ table }) => new DynamoDeployments(table).newest(),
    later: "left out",
  },
  {
    name: "catalogue",
    write: ({ table }) => new DynamoCatalog(table).save(JSON.stringify(toCatalog([echo]))),
    read: ({ table }) => new DynamoCatalog(table).load(),
  },
];

export const storedForms: readonly StoredForm[] = [...records, ...flow, ...schedules, ...others];
