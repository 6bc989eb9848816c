import { createHash } from "node:crypto";
import type { Part } from "../core/ports.ts";
import type { TaskKey, TaskRecord } from "../core/record.ts";
import type { ScheduleKey } from "../core/schedules/schedule-record.ts";

/**
 * The table's items and their keys. All keys are texts. Every key of a task contains its tenant, so a look-up can never find a
 * task of another tenant.
 *
 * | item | pk | sk |
 * |---|---|---|
 * | record | `task#<tenant>#<task id>` | `record` |
 * | part of a record | `task#<tenant>#<task id>` | `part#<part>` |
 * | result of `task.once` | `once#<tenant>#<key>` | `once` |
 * | counter | `counter#<tenant>#<name>` | `counter` |
 * | API key | `key#<key id>` | `key` |
 * | tenant that has a key or submitted a task | `tenants` | `<tenant>` |
 * | entry for each of a tenant's keys | `keys#<tenant>` | `<key id>` |
 * | limits of the deployment, of a tenant | `limits`, `limits#<tenant>` | `limits` |
 * | schedule | `schedules#<tenant>` | `<schedule id>` |
 * | progress of a firing for each tenant | `firing#<schedule id>#<scheduled time>` | `firing` |
 * | a tenant's usage: its token bucket, its tasks in progress | `usage#<tenant>` | `rate`, `open` |
 */
export const keys = {
  record: (key: TaskKey) => ({ pk: `task#${key.tenant_id}#${key.task_id}`, sk: "record" }),
  part: (key: TaskKey, part: Part) => ({ pk: `task#${key.tenant_id}#${key.task_id}`, sk: `part#${part}` }),
  once: (tenantId: string, key: string) => ({ pk: `once#${tenantId}#${key}`, sk: "once" }),
  counter: (tenantId: string, name: string) => ({ pk: `counter#${tenantId}#${name}`, sk: "counter" }),
  apiKey: (keyId: string) => ({ pk: `key#${keyId}`, sk: "key" }),
  tenantEntry: (tenantId: string) => ({ pk: "tenants", sk: tenantId }),
  apiKeyEntry: (tenantId: string, keyId: string) => ({ pk: `keys#${tenantId}`, sk: keyId }),
  deploymentLimits: () => ({ pk: "limits", sk: "limits" }),
  schedule: (key: ScheduleKey) => ({ pk: `schedules#${key.tenant_id}`, sk: key.schedule_id }),
  firing: (scheduleId: string, scheduledFor: string) => ({ pk: `firing#${scheduleId}#${scheduledFor}`, sk: "firing" }),
  tenantLimits: (tenantId: string) => ({ pk: `limits#${tenantId}`, sk: "limits" }),
  usage: (tenantId: string, of: "rate" | "open") => ({ pk: `usage#${tenantId}`, sk: of }),
};

/** Index partitions of one tenant. A partition accepts 1,000 writes a second, so a tenant can start 4,000 tasks a second. */
export const shards = ["0", "1", "2", "3"] as const;

const shardOf = (taskId: string): string =>
  shards[(createHash("md5").update(taskId).digest()[0] ?? 0) % shards.length] ?? shards[0];

/** The index partition of a tenant's shard. */
export const shardKey = (tenantId: string, shard: string): string => `${tenantId}#${shard}`;

/** The index partition of the tasks that one principal submitted with the role submitter. */
export const principalKey = (tenantId: string, principal: string): string => `${tenantId}#${principal}`;

/** The index keys of a new record. They never change. */
export const listKeys = (record: TaskRecord): Record<string, string> => {
  const sortKey = `${record.created_at}#${record.task_id}`;
  return {
    tenant_pk: shardKey(record.tenant_id, shardOf(record.task_id)),
    tenant_sk: sortKey,
    ...(record.own_list === true
      ? { principal_pk: principalKey(record.tenant_id, record.requested_by), principal_sk: sortKey }
      : {}),
  };
};

/** The index keys that a record has only while its task is a dead letter. */
export const deadLetterKeys = (key: TaskKey, deadLetterAt: string): Record<string, string> => ({
  dead_letter_pk: shardKey(key.tenant_id, shardOf(key.task_id)),
  dead_letter_sk: `${deadLetterAt}#${key.task_id}`,
});

/** All attributes that are keys and not fields of a record. */
export const keyAttributes = [
  "pk",
  "sk",
  "tenant_pk",
  "tenant_sk",
  "principal_pk",
  "principal_sk",
  "dead_letter_pk",
  "dead_letter_sk",
] as const;
