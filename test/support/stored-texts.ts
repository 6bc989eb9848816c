import { SqsQueues, sendRequest } from "../../src/aws/queues.ts";
import { messageText, parseTicket, type Ticket } from "../../src/core/model/envelope.ts";
import { parseDeadLetter, parseEnvelope, parseLineCheck } from "../../src/core/model/read-envelope.ts";
import { parseNotice } from "../../src/core/notify/notify.ts";
import { newEnvelope } from "../../src/core/pipeline/send/large-input.ts";
import type { FirePayload, Outgoing } from "../../src/core/ports/tasks.ts";
import { readPayload } from "../../src/core/schedules/fire.ts";
import { internalTypes } from "../../src/core/task/internal-types.ts";
import { messageAttributes } from "../../src/settings/config.ts";
import { KeptLog } from "./kept.ts";
import { endNotice } from "./notices.ts";
import { exampleEnvelope, exampleRecord } from "./stored-forms.ts";

/*
 * One example of each text that Offload sends through queues and schedules, written as it is sent and read as it arrives.
 */

/** A text, as it is written and read. */
export interface StoredText {
  name: string;
  write(): string | Promise<string>;
  read(text: string): unknown;
}

const task = "0198f0c2-7a54-7c31-b3a7-000000000001";
const at = "2027-01-01T00:00:00.000Z";
const making = { clock: { now: () => Date.parse(at), after: () => () => {} }, newId: () => task };
const envelope = newEnvelope(making, exampleRecord, { value: 1 });
const outgoing: Outgoing = { tier: "normal", envelope, delaySeconds: 0, solo: false, redrives: 0 };

/** The text of the message that a call sends. */
async function sentBy(send: (queues: SqsQueues) => Promise<unknown>): Promise<string> {
  const sent: { input: { MessageBody?: string } }[] = [];
  const client = { send: async (command: (typeof sent)[number]) => sent.push(command) };
  const urls = { critical: "c", high: "h", normal: "n", low: "l" };
  await send(new SqsQueues(client as never, urls, urls, new KeptLog()));
  return String(sent[0]?.input.MessageBody);
}

const ticket = (name: string, given: Ticket): StoredText => ({
  name: `grant: ${name}`,
  write: () =>
    String(sendRequest("q", { ...outgoing, ticket: given }).MessageAttributes?.[messageAttributes.grant]?.StringValue),
  read: parseTicket,
});

const firing = (name: string, payload: FirePayload | Record<string, unknown>): StoredText => ({
  name: `firing: ${name}`,
  write: () => JSON.stringify(payload),
  read: readPayload,
});

const notice = (name: string, given: object): StoredText => ({
  name: `notice: ${name}`,
  write: () => messageText(given),
  read: parseNotice,
});

const about = { tenant_id: "acme", task_id: task, requested_by: "olga", type: "a.b" };
const tryNotice = { kind: "try" as const, tenant_id: "acme", task_id: task, id: "msg_1", number: 2 };

export const storedTexts: readonly StoredText[] = [
  { name: "message of a task", write: () => sentBy((queues) => queues.send(outgoing)), read: parseEnvelope },
  {
    name: "check of a line",
    write: () =>
      sentBy((queues) =>
        queues.sendCheck({ tier: "low", check: { line: "pause/type/a.b", check_id: "c" }, delaySeconds: 0 }),
      ),
    read: parseLineCheck,
  },
  {
    name: "dead letter",
    write: () =>
      sentBy((queues) =>
        queues.deadLetter(
          "normal",
          {
            ...{ original_message: exampleEnvelope(), failure_reason: "no", failure_type: "Error" },
            ...{ failure_kind: "permanent", attempt_count: 1, first_failed_at: at, last_failed_at: at },
            original_queue: "normal",
          },
          "acme",
        ),
      ),
    read: parseDeadLetter,
  },
  ticket("a place", { hasPermit: true }),
  ticket("a place of a bucket, spare", { hasPermit: true, bucket: 7, isBackup: true, slotMs: 1_800_000_000_000 }),
  ticket("a try", { tryUntilMs: 1_800_000_000_000 }),
  firing("task", { kind: "task", tenant_id: "acme", task_id: task }),
  firing("webhook", { kind: "webhook", notice: tryNotice }),
  notice("end", endNotice({ task_id: task })),
  notice("change", { kind: "change", ...about, change: "progress", status: "processing" }),
  notice("try", tryNotice),
  {
    name: "types of operations",
    write: () =>
      JSON.stringify([...internalTypes.values()].map(({ name, version, input }) => [name, version, shapeOf(input)])),
    read: (text) => (JSON.parse(text) as [string, number, string[]][]).map(([name, version]) => ({ name, version })),
  },
];

const shapeOf = (input: unknown): string[] => Object.keys((input as { shape?: object }).shape ?? {}).sort();
