import type { TaskKey, TaskRecord } from "../core/model/record.ts";
import { isOfLimit } from "../core/model/wait-queue.ts";
import type { Tier } from "../core/model/words.ts";
import type { AuditKey } from "../core/ports/audit.ts";
import { type BlobEntry, blobListShards } from "../core/ports/blob.ts";
import type { FamilyKey } from "../core/ports/family.ts";
import type { Sharded, WaitingKey } from "../core/ports/flow.ts";
import type { Channel } from "../core/ports/notify.ts";
import type { StepOwner } from "../core/ports/steps.ts";
import type { Part } from "../core/ports/tasks.ts";
import type { ListKey, UniqueKey } from "../core/ports/unique.ts";
import type { ReceiverKey } from "../core/ports/webhooks.ts";
import type { ScheduleKey } from "../core/schedules/schedule-record.ts";
import { catalogKey, partitionsOf } from "../settings/config.ts";
import { createHash } from "../util/node-crypto.ts";

/**
 * The table's items and their keys. All keys are texts. Every key of a task contains its tenant, so a look-up can never
 * find a task of another tenant. An item in a form that an earlier release would misread has the attribute `form`, 2 or
 * more: readers that do not know it leave the item to the release that wrote it.
 *
 * | item | pk | sk |
 * |---|---|---|
 * | record | `task#<tenant>#<task id>` | `record` |
 * | part of a record | `task#<tenant>#<task id>` | `part#<part>` |
 * | step, sleep, wait, signal, state of a task | `task#<tenant>#<task id>` | `step#<time of the submit>#<kind>:<name>` |
 * | page of a list of collected inputs | `task#<tenant>#<task id>` | `list#<time of the submit>#<number>` |
 * | node of a family's tree | `family#<tenant>#<parent's task id>#<node>` | `node` |
 * | page of a family's children | `family#<tenant>#<parent's task id>#<time of the parent's submit>` | `page#<number>` |
 * | term of a search, such as a tag's value, with its task | `term#<tenant>#<shard>#<hash of the term>` | `<time of the submit>#<task id>` |
 * | result of `task.once` | `once#<tenant>#<key>` | `once` |
 * | counter | `counter#<tenant>#<name>` | `counter` |
 * | API key | `key#<key id>` | `key` |
 * | tenant that has a key or submitted a task | `tenants`, `tenants#1` to `tenants#15` | `<tenant>` |
 * | entry for each of a tenant's keys | `keys#<tenant>` | `<key id>` |
 * | largest number of shards that lists ever had | `list-shards` | `list-shards` |
 * | limits of the deployment, of a tenant | `limits`, `limits#<tenant>` | `limits` |
 * | deployment that has ended | `deployments` | `<time>` |
 * | start of the last deployment | `deployment-start` | `deployment-start` |
 * | catalogue of task types, for programs that submit directly | `catalog` | `catalog` |
 * | schedule | `schedules#<tenant>` | `<schedule id>` |
 * | state of a schedule of the app, for a tenant or for all (`*`) | `app-schedule#<schedule id>` | `<tenant>` |
 * | progress of a firing for each tenant | `firing#<schedule id>#<scheduled time>` | `firing` |
 * | entry of a day's list of stored objects | `blobs#<day>#<shard>` | `<object's key>#<id of its task or upload>` |
 * | webhook of one end of a task | `task#<tenant>#<task id>` | `delivery#<id of the end>` |
 * | slow receiver of webhooks, its places in an interval | `slow#<tenant>` | `<host>`, `<host>#<interval>` |
 * | announced upload | `upload#<tenant>#<upload id>` | `upload` |
 * | receiver of a tenant's webhooks | `receivers#<tenant>` | `<webhook id>` |
 * | delivery in a receiver's log | `receiver-log#<tenant>#<webhook id>` | `<time>#<task id>#<id of the delivery>` |
 * | version of a tenant's webhook secret | `webhook-secret#<tenant>` | `webhook-secret` |
 * | a tenant's usage: its token bucket, its tasks in progress | `usage#<tenant>` | `rate`, `open` |
 * | channel that waits for its connection | `channel#<hash of its ticket>` | `channel` |
 * | link that sends one signal | `signal-link#<hash of its secret>` | `signal-link` |
 * | number of channels that a principal opened in a minute | `channels#<tenant>#<principal>` | `<minute>` |
 * | open connection | `connection#<connection id>` | `connection` |
 * | entry for each connection that hears the same tasks | `connections#<tenant>#tenant`, `connections#<tenant>#own#<principal>` | `<connection id>` |
 * | mark of such connections | `listeners#<tenant>` | `tenant`, `own#<principal>` |
 * | key of unique submits, with its holder | `unique#<tenant>#<type>#<hash of the key>` | `unique` |
 * | submit with an idempotency key that joined a holder | `unique#<tenant>##<id that its task would have>` | `unique` |
 * | places that waiting requests took in an interval | `waits#<interval>` | `waits` |
 * | act of an operator | `audit#<tenant>` | `<time>#<id>` |
 * | pause, limits of a type, breaker, mark of a tenant with receivers | `flow` | its name, as in `src/core/ports/flow.ts` |
 * | task that waits in a line | `line#<line>` | `waiting#<time of the submit>#<task id>` |
 * | the same, in the line of a pause, of a breaker or of a large limit | `line#<line>`, `line#waiting/1/<line>` to `line#waiting/15/<line>` | |
 * | its message, if that does not fit into this item | `task#<tenant>#<task id>` | `waiting#<line>` |
 * | state of a line: its places, its next start, its next check, its mark of tasks in further partitions | `line#<line>` | `state` |
 * | further places of a line, in buckets of 16 | `line#places/<bucket>/<line>` | `state` |
 * | mark of a task that a call lets go now, in a line of several buckets | `line#reserved/<line>`, `line#reserved/waiting/<shard>/<line>` | `<task id>` |
 * | entry for each line of a limit in which tasks wait; `lines` in earlier releases | `lines#<kind>/<type>#<shard>` | `<line>` |
 */
export const keys = {
  record: (key: TaskKey) => ({ pk: `task#${key.tenant_id}#${key.task_id}`, sk: "record" }),
  part: (key: TaskKey, part: Part) => ({ pk: `task#${key.tenant_id}#${key.task_id}`, sk: `part#${part}` }),
  /** @param entry Kind and name; empty: the start of the keys of all entries. */
  step: ({ created_at, ...key }: StepOwner, entry: string) => ({
    pk: `task#${key.tenant_id}#${key.task_id}`,
    sk: `step#${created_at}#${entry}`,
  }),
  /** @param number Undefined: the start of the keys of all pages. */
  listPage: ({ created_at, ...key }: ListKey, number: number | undefined) => ({
    pk: `task#${key.tenant_id}#${key.task_id}`,
    sk: `list#${created_at}#${number === undefined ? "" : String(number).padStart(4, "0")}`,
  }),
  familyNode: (parent: TaskKey, node: string) => ({ pk: familyPk(parent, node), sk: "node" }),
  familyPage: (family: FamilyKey, number: number) => ({
    pk: familyPk(family, family.life),
    sk: `page#${String(number).padStart(8, "0")}`,
  }),
  term: (record: TaskRecord, term: string, listShards: number) => ({
    pk: termPartition(record.tenant_id, shardOf(record.task_id, partitionsOf(listShards).tenant), term),
    sk: `${record.created_at}#${record.task_id}`,
  }),
  once: (tenantId: string, key: string) => ({ pk: `once#${tenantId}#${key}`, sk: "once" }),
  counter: (tenantId: string, name: string) => ({ pk: `counter#${tenantId}#${name}`, sk: "counter" }),
  apiKey: (keyId: string) => ({ pk: `key#${keyId}`, sk: "key" }),
  tenantEntry: (tenantId: string) => ({ pk: directoryShard(hashOf(tenantId) % directoryShards), sk: tenantId }),
  apiKeyEntry: (tenantId: string, keyId: string) => ({ pk: `keys#${tenantId}`, sk: keyId }),
  listShards: () => ({ pk: "list-shards", sk: "list-shards" }),
  deploymentLimits: () => ({ pk: "limits", sk: "limits" }),
  catalog: () => ({ pk: catalogKey, sk: catalogKey }),
  schedule: (key: ScheduleKey) => ({ pk: `schedules#${key.tenant_id}`, sk: key.schedule_id }),
  appSchedule: ({ schedule_id, tenant_id }: ScheduleKey) => ({ pk: `app-schedule#${schedule_id}`, sk: tenant_id }),
  firing: (scheduleId: string, scheduledFor: string) => ({ pk: `firing#${scheduleId}#${scheduledFor}`, sk: "firing" }),
  tenantLimits: (tenantId: string) => ({ pk: `limits#${tenantId}`, sk: "limits" }),
  blobEntry: (day: string, { key, task_id, upload_id = "" }: BlobEntry) => ({
    pk: blobListPartition(day, hashOf(key) % blobListShards),
    sk: `${key}#${task_id ?? upload_id}`,
  }),
  upload: (tenantId: string, uploadId: string) => ({ pk: `upload#${tenantId}#${uploadId}`, sk: "upload" }),
  delivery: (key: TaskKey, id: string) => ({ pk: `task#${key.tenant_id}#${key.task_id}`, sk: `delivery#${id}` }),
  slowHost: (tenantId: string, host: string) => ({ pk: `slow#${tenantId}`, sk: host }),
  receiver: ({ tenant_id, webhook_id }: ReceiverKey) => ({ pk: `receivers#${tenant_id}`, sk: webhook_id }),
  receiverLog: ({ tenant_id, webhook_id }: ReceiverKey, sk: string) => ({
    pk: `receiver-log#${tenant_id}#${webhook_id}`,
    sk,
  }),
  webhookSecret: (tenantId: string) => ({ pk: `webhook-secret#${tenantId}`, sk: "webhook-secret" }),
  usage: (tenantId: string, of: "rate" | "open") => ({ pk: `usage#${tenantId}`, sk: of }),
  channel: (ticketHash: string) => ({ pk: `channel#${ticketHash}`, sk: "channel" }),
  channelCount: ({ tenant_id, principal }: Channel, minute: number) => ({
    pk: `channels#${tenant_id}#${principal}`,
    sk: String(minute),
  }),
  connection: (connectionId: string) => ({ pk: `connection#${connectionId}`, sk: "connection" }),
  connectionEntry: (of: Channel, connectionId: string) => ({ pk: connectionPartition(of), sk: connectionId }),
  listener: (of: Hearing) => ({ pk: `listeners#${of.tenant_id}`, sk: hearingOf(of) }),
  uniqueKey: ({ tenant_id, type, unique_key }: UniqueKey) => ({
    pk: `unique#${tenant_id}#${type}#${unique_key}`,
    sk: "unique",
  }),
  waits: (interval: number) => ({ pk: `waits#${interval}`, sk: "waits" }),
  auditEntry: ({ tenant_id, at, audit_id }: AuditKey) => ({ pk: `audit#${tenant_id}`, sk: `${at}#${audit_id}` }),
  flowSetting: (name: string) => ({ pk: "flow", sk: name }),
  waiting: (line: string, { createdAt, taskId, shard = 0 }: WaitingKey & Sharded) => ({
    pk: `line#${waitingName(line, isOfLimit(line) ? shard : hashOf(taskId) % waitingShards)}`,
    sk: `${waitingPrefix}${createdAt}#${taskId}`,
  }),
  waitingEnvelope: (line: string, { tenantId, taskId }: { tenantId: string; taskId: string }) => ({
    pk: `task#${tenantId}#${taskId}`,
    sk: `${waitingPrefix}${line}`,
  }),
  lineState: (line: string) => ({ pk: `line#${line}`, sk: "state" }),
  reservation: (line: string, { taskId, shard = 0 }: Sharded) => ({
    pk: `line#reserved/${waitingName(line, shard)}`,
    sk: taskId,
  }),
  lineEntry: (line: string) => ({
    pk: lineListPartition(limitOf(line), hashOf(line) % lineListShards),
    sk: line,
  }),
  earlierLineEntry: (line: string) => ({ pk: earlierLineList, sk: line }),
};

/** The start of the sort keys of waiting tasks in their line's partition, and of their messages in the tasks' own. */
export const waitingPrefix = "waiting#";

/**
 * Partitions of a line's waiting tasks. A whole type or tier joins the line of a pause or a breaker at once. The core
 * says in which shard of a limit's line a task waits.
 */
const waitingShards = 16;

/** No line's name begins with `waiting/`. */
const waitingName = (line: string, shard: number): string => `${shard === 0 ? "" : `waiting/${shard}/`}${line}`;

/**
 * The partitions of the tasks that wait in a line.
 * @param shards Those of a limit's line.
 */
export const waitingPartitions = (line: string, shards: readonly number[] = [0]): string[] =>
  (isOfLimit(line) ? shards : pauseShards).map((shard) => `line#${waitingName(line, shard)}`);

const pauseShards = Array.from({ length: waitingShards }, (_, shard) => shard);

/** The shard of a partition of a limit's line. Absent: 0. */
export function shardIn(line: string, partition: string): { shard?: number } {
  const [, shard] = /^line#waiting\/(\d+)\//.exec(partition) ?? [];
  return shard === undefined || !isOfLimit(line) ? {} : { shard: Number(shard) };
}

/** Partitions of the list of a limit's lines: a partition takes a thousand writes a second. */
const lineListShards = 4;

/** The partition in which earlier releases listed all lines. */
const earlierLineList = "lines";

/** The kind and the type of a line of a limit, as its name begins. */
const limitOf = (line: string): string => line.split("/", 2).join("/");

const lineListPartition = (limit: string, shard: number): string => `lines#${limit}#${shard}`;

/** The partitions that list the lines whose names begin with a prefix, which has the kind and the type. */
export const lineListPartitions = (prefix: string): string[] => [
  ...Array.from({ length: lineListShards }, (_, shard) => lineListPartition(limitOf(prefix), shard)),
  earlierLineList,
];

/** The tasks that a connection hears. */
type Hearing = Pick<Channel, "tenant_id" | "principal" | "scope">;

/** A principal's name is the last part, so that no name can be mistaken for another one or for the tenant's scope. */
const hearingOf = ({ scope, principal }: Hearing): string => (scope === "tenant" ? scope : `own#${principal}`);

/** The partition of the connections that hear the same tasks. */
export const connectionPartition = (of: Hearing): string => `connections#${of.tenant_id}#${hearingOf(of)}`;

const familyPk = ({ tenant_id, task_id }: TaskKey, node: string): string => `family#${tenant_id}#${task_id}#${node}`;

/** A partition of a day's list of stored objects. */
export const blobListPartition = (day: string, shard: number): string => `blobs#${day}#${shard}`;

/** A number from 0 to 2^32 - 1, the same for the same text. */
export const hashOf = (text: string): number => createHash("md5").update(text).digest().readUInt32BE();

/** Number of partitions of the directory of tenants. Every new process of submit writes to it, once for each tenant. */
const directoryShards = 16;

const directoryShard = (shard: number): string => (shard === 0 ? "tenants" : `tenants#${shard}`);

/** The partitions of the directory of tenants. */
export const directoryPartitions = Array.from({ length: directoryShards }, (_, shard) => directoryShard(shard));

/*
 * Each list is an index with several partitions (shards), as a partition accepts 1,000 writes a second. `listShards` is
 * the deployment's setting; `src/aws/list-shards.ts` decides which number applies.
 */

const shardOf = (taskId: string, count: number): number => hashOf(taskId) % count;

const shardsUpTo = (count: number): number[] => Array.from({ length: count }, (_, shard) => shard);

const tenantShard = (tenantId: string, shard: number): string => `${tenantId}#${shard}`;

/** No tenant's id contains `/` or `#`, so no principal's name can be mistaken for a shard. */
const principalShard = (tenantId: string, principal: string, shard: number): string =>
  shard === 0 ? `${tenantId}#${principal}` : `${tenantId}/${shard}#${principal}`;

/** The index partitions of a tenant's tasks, and of its dead letters. */
export const tenantPartitions = (tenantId: string, listShards: number): string[] =>
  shardsUpTo(partitionsOf(listShards).tenant).map((shard) => tenantShard(tenantId, shard));

/** A term can be as long as a tag, and have any character. */
const termPartition = (tenantId: string, shard: number, term: string): string =>
  `term#${tenantId}#${shard}#${createHash("sha256").update(term).digest("base64url")}`;

/** The partitions of a tenant's tasks with a term. */
export const termPartitions = (tenantId: string, term: string, listShards: number): string[] =>
  shardsUpTo(partitionsOf(listShards).tenant).map((shard) => termPartition(tenantId, shard, term));

/** The index partitions of the tasks that one principal submitted with the role submitter. */
export const principalPartitions = (tenantId: string, principal: string, listShards: number): string[] =>
  shardsUpTo(partitionsOf(listShards).submitter).map((shard) => principalShard(tenantId, principal, shard));

/** The index keys of a new record. They never change. */
export const listKeys = (record: TaskRecord, listShards: number): Record<string, string> => {
  const { tenant_id, task_id, requested_by } = record;
  const { tenant, submitter } = partitionsOf(listShards);
  const sortKey = `${record.created_at}#${task_id}`;
  return {
    tenant_pk: tenantShard(tenant_id, shardOf(task_id, tenant)),
    tenant_sk: sortKey,
    ...(record.own_list === true
      ? { principal_pk: principalShard(tenant_id, requested_by, shardOf(task_id, submitter)), principal_sk: sortKey }
      : {}),
  };
};

/** The index keys that a record has only while its task is a dead letter. */
export const deadLetterKeys = (key: TaskKey, deadLetterAt: string, listShards: number): Record<string, string> => ({
  dead_letter_pk: tenantShard(key.tenant_id, shardOf(key.task_id, partitionsOf(listShards).tenant)),
  dead_letter_sk: `${deadLetterAt}#${key.task_id}`,
});

/** Number of partitions for the tasks of a tier that wait for another attempt: each accepts 1,000 changes a second. */
const retryingShards = 8;

const retryingPartition = (tier: Tier, shard: number): string => `retrying#${tier}#${shard}`;

/**
 * The partitions, in the index of dead letters, of a tier's tasks that wait for another attempt. No tenant's own
 * partition has one of these names.
 */
export const retryingPartitions = (tier: Tier): string[] =>
  shardsUpTo(retryingShards).map((shard) => retryingPartition(tier, shard));

/** The index keys that a record has only while its task waits for another attempt. */
export const retryingKeys = ({ task_id }: TaskKey, tier: Tier): Record<string, string> => ({
  dead_letter_pk: retryingPartition(tier, shardOf(task_id, retryingShards)),
  dead_letter_sk: task_id,
});

/**
 * The partition of a tenant's failed deliveries in the index of dead letters. No tenant's own partition has this name.
 */
export const failedDeliveries = (tenantId: string): string => `failed-deliveries#${tenantId}`;

/** All attributes that are keys and not fields of a record. */
export const keyAttributes: ReadonlySet<string> = new Set([
  "pk",
  "sk",
  "tenant_pk",
  "tenant_sk",
  "principal_pk",
  "principal_sk",
  "dead_letter_pk",
  "dead_letter_sk",
]);
