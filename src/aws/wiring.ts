import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { v4 as uuidV4, v7 as uuidV7 } from "uuid";
import { type Config, fromEnv } from "../config.ts";
import { type KnownType, knownTypes, parseCatalog } from "../core/catalog.ts";
import type { ChildSubmit } from "../core/context.ts";
import type { DispatchPorts } from "../core/dispatch.ts";
import { PermanentError } from "../core/errors.ts";
import { Problem } from "../core/problem.ts";
import type { TaskRecord } from "../core/record.ts";
import { type SubmitPorts, submit } from "../core/submit.ts";
import { queueClient, schedulerClient, tableClient } from "./clients.ts";
import { SchedulerOneOffs, schedulerSettings } from "./one-offs.ts";
import { systemClock } from "./process.ts";
import { SqsQueues } from "./queues.ts";
import { DynamoRecords } from "./records.ts";

/** A new task id: its order follows the time. */
export const newId = (): string => uuidV7();

/** A new id that tells nothing, for correlation. */
export const newCorrelationId = (): string => uuidV4();

/** The settings that `dispatchPorts` reads. */
export const dispatchSettings = ["table", "queueUrls", "dlqUrls", ...schedulerSettings] as const;

/** The ports that put work into a tier, with one client for each service. */
export function dispatchPorts(config: Config<(typeof dispatchSettings)[number]>) {
  const documents = tableClient();
  const ports: DispatchPorts = {
    clock: systemClock,
    records: new DynamoRecords(documents, config.table),
    queues: new SqsQueues(queueClient(), config.queueUrls, config.dlqUrls),
    oneOffs: new SchedulerOneOffs(schedulerClient(), config),
  };
  return { ...ports, documents };
}

/** The catalogue of task types that was written beside the bundle, or where the setting points. */
export function catalogTypes(env: NodeJS.ProcessEnv): ReadonlyMap<string, KnownType> {
  const { catalogFile } = fromEnv(env, ["catalogFile"]);
  const path = resolve(env.LAMBDA_TASK_ROOT ?? ".", catalogFile);
  return knownTypes(parseCatalog(readFileSync(join(path), "utf8")));
}

/**
 * A handler's submit: by the normal path, with the parent and the key as idempotency key, so that a retried attempt finds
 * its earlier submit.
 */
export const submitChild =
  (ports: SubmitPorts) =>
  async (parent: TaskRecord, child: ChildSubmit, key: string): Promise<string> => {
    try {
      const { record } = await submit(ports, {
        identity: {
          tenantId: parent.tenant_id,
          principal: parent.requested_by,
          role: parent.own_list ? "submitter" : "operator",
        },
        body: {
          type: child.type,
          input: child.input,
          priority: child.priority,
          delay_seconds: child.delaySeconds,
          max_attempts: child.maxAttempts,
          tags: child.tags,
        },
        idempotencyKey: `child of ${parent.task_id}: ${key}`,
        correlationId: parent.correlation_id,
        traceparent: parent.traceparent,
        parentId: parent.task_id,
      });
      return record.task_id;
    } catch (error) {
      if (error instanceof Problem && error.code !== "unavailable")
        throw new PermanentError(error.message, { cause: error });
      throw error;
    }
  };
