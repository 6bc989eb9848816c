import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { tableClient } from "../../aws/clients.ts";
import { DynamoTable } from "../../aws/dynamo-table.ts";
import { DynamoRecords } from "../../aws/records.ts";
import { fence, longestLeaseSeconds } from "../../core/model/change.ts";
import { parseEnvelope } from "../../core/model/read-envelope.ts";
import { iso, type TaskKey } from "../../core/model/record.ts";
import type { Records } from "../../core/ports/tasks.ts";
import { fromEnv } from "../../settings/config.ts";
import type { QueueStore } from "../sqs/queue-store.ts";
import { ReceiptError } from "../sqs/receipt.ts";
import { serverNow } from "../time/moved-time.ts";

/** Time between two renewals, in milliseconds. */
const renewMs = 5_000;

type Invoke = (event: SQSEvent) => Promise<SQSBatchResponse>;

/**
 * Makes a worker keep the leases and the messages of its batch for as long as its process lives. A process that a
 * debugger has stopped cannot renew them itself, and another attempt would start.
 */
export function holdingBatches(store: QueueStore, queue: string, invoke: Invoke): Invoke {
  const { table, listShards } = fromEnv(process.env, ["table", "listShards"]);
  const records = new DynamoRecords(new DynamoTable(tableClient(), table), listShards);
  return async (event) => {
    const renew = () => {
      for (const { receiptHandle, body } of event.Records) {
        hide(store, queue, receiptHandle);
        const parsed = parseEnvelope(body);
        // The next renewal makes up for a failed renewal.
        if (parsed.ok) void renewLease(records, parsed.envelope).catch(() => {});
      }
    };
    const timer = setInterval(renew, renewMs);
    return invoke(event).finally(() => clearInterval(timer));
  };
}

/** Hides a message again that is still in flight. */
function hide(store: QueueStore, queue: string, receiptHandle: string): void {
  try {
    store.changeVisibility(queue, receiptHandle, longestLeaseSeconds);
  } catch (error) {
    if (!(error instanceof ReceiptError)) throw error;
  }
}

async function renewLease(records: Records, key: TaskKey): Promise<void> {
  const record = await records.get(key);
  if (record?.status !== "processing" || record.lease_token === undefined) return;
  await records.change(record, {
    when: { ...fence(record), lease_token: { is: record.lease_token } },
    set: { lease_until: iso(serverNow() + longestLeaseSeconds * 1000) },
  });
}
