import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, ScanCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import { localConfig } from "../../aws/local-services.ts";
import { createLog } from "../../aws/log.ts";
import { keys } from "../../aws/table.ts";
import { dispatchPorts, dispatchSettings } from "../../aws/wiring.ts";
import type { Envelope } from "../../core/model/envelope.ts";
import { parseEnvelope } from "../../core/model/read-envelope.ts";
import { isKept, iso, statusAt, type TaskRecord } from "../../core/model/record.ts";
import { dispatch, oneOffName } from "../../core/pipeline/send/dispatch.ts";
import type { DispatchPorts } from "../../core/ports/steps.ts";
import { fromEnv, localTable } from "../../settings/config.ts";
import { scheduleGroup } from "../deployment/resources.ts";
import type { Scheduler } from "../scheduler/scheduler.ts";
import type { QueueStore } from "../sqs/queue-store.ts";
import { taskText } from "../sqs/saved-envelopes.ts";
import { serverNow } from "../time/moved-time.ts";

/** Number of task ids in a line of the log, at most. */
const maxShownIds = 5;

/** The queues, and the schedules in which a task waits for longer. */
export interface Waits {
  store: QueueStore;
  scheduler: Pick<Scheduler, "exists">;
}

/** The tasks that have not ended. */
export async function readOpenTasks(documents: DynamoDBDocumentClient): Promise<TaskRecord[]> {
  const open: TaskRecord[] = [];
  let from: Record<string, unknown> | undefined;
  do {
    const page = await documents.send(
      new ScanCommand({
        TableName: localTable,
        FilterExpression: "sk = :record AND #status IN (:pending, :processing)",
        ExpressionAttributeNames: { "#status": "status" },
        ExpressionAttributeValues: { ":record": "record", ":pending": "pending", ":processing": "processing" },
        ExclusiveStartKey: from,
      }),
    );
    open.push(...((page.Items ?? []) as TaskRecord[]));
    from = page.LastEvaluatedKey;
  } while (from !== undefined);
  return open.filter((record) => isKept(record, serverNow()));
}

/** The ids of users' tasks that have expired by their records, which nobody has ended yet. */
export async function readExpired(): Promise<string[]> {
  const client = new DynamoDBClient(localConfig("dynamodb"));
  try {
    const open = await readOpenTasks(DynamoDBDocumentClient.from(client));
    const now = iso(serverNow());
    return open.filter((record) => statusAt(record, now) === "expired").map(({ task_id }) => task_id);
  } finally {
    client.destroy();
  }
}

/**
 * Ends the leases of all running attempts, and returns their number. For the start of the local server, when no worker
 * can be alive: the attempts then count as crashed immediately, not only when their leases end.
 */
export async function endLeases(documents: DynamoDBDocumentClient, open: readonly TaskRecord[]): Promise<number> {
  const running = open.filter(({ status }) => status === "processing");
  for (const record of running) {
    await documents.send(
      new UpdateCommand({
        TableName: localTable,
        Key: keys.record(record),
        UpdateExpression: "SET lease_until = :now",
        ExpressionAttributeValues: { ":now": iso(serverNow()) },
      }),
    );
  }
  return running.length;
}

/**
 * Sends open tasks again whose message is gone. A task that was sent twice is harmless: the claim lets one message
 * through.
 * @param print Receives a line for each finding, with the names of the files.
 */
export async function resendOpenTasks(
  open: readonly TaskRecord[],
  { store, scheduler }: Waits,
  print: (line: string) => void,
): Promise<void> {
  const inQueues = store.rows.tasks();
  const lost = open.filter((record) => {
    // Its line has the message.
    if (record.line !== undefined) return false;
    const oneOff = oneOffName(record.task_id, record.attempts_total, Date.parse(record.due_at));
    return !inQueues.has(taskText(record)) && !scheduler.exists(scheduleGroup, oneOff);
  });
  store.envelopes.keepOnly(new Set(open.map(taskText)));
  if (lost.length === 0) return;
  const {
    table,
    scheduler: client,
    ...ports
  } = dispatchPorts(fromEnv(process.env, dispatchSettings), createLog("start"));
  const unknown: string[] = [];
  for (const record of lost) {
    const envelope = await envelopeOf(ports, store, record);
    if (envelope === undefined) unknown.push(record.task_id);
    else await dispatch(ports, record, envelope);
  }
  table.destroy();
  client.destroy();
  const without = `Open tasks without a message in ${store.rows.path}`;
  const sent = lost.length - unknown.length;
  if (sent > 0) print(`${without}: ${sent}. They are sent again.`);
  if (unknown.length === 0) return;
  const ids = unknown.length > maxShownIds ? [...unknown.slice(0, maxShownIds), "..."] : unknown;
  print(
    `${without} and without their input in ${store.envelopes.path}: ${unknown.length} (${ids.join(", ")}). ` +
      "Repeat their submits with the same Idempotency-Key, or cancel them.",
  );
}

/** The saved envelope of a message, or the part that the core stores during a long wait. */
async function envelopeOf(ports: DispatchPorts, store: QueueStore, record: TaskRecord): Promise<Envelope | undefined> {
  const parsed = parseEnvelope(store.envelopes.find(record) ?? "");
  return parsed.ok ? parsed.envelope : ((await ports.records.loadPart(record, "envelope")) as Envelope | undefined);
}
