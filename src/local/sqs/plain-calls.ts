import type { Reply } from "../direct/doors.ts";
import type { Queue, Service } from "./library.ts";
import { faultOf } from "./message-rules.ts";
import { accountId } from "./queue-message.ts";
import type { QueueStore } from "./queue-store.ts";

/** Entries of a batch, at most. */
const maxEntries = 10;

/** A message whose parameters are all that a plain message has. */
interface PlainMessage {
  MessageBody: string;
  MessageGroupId?: string;
  DelaySeconds?: number;
}

/** An entry of ChangeMessageVisibilityBatch. */
interface Hidden {
  Id: string;
  ReceiptHandle: string;
  VisibilityTimeout: number;
}

/**
 * Does what workers and submits ask for with each task without the library, whose reading of a request takes longer
 * than the work. Undefined: the call is not certain to succeed as a whole, so the library does it, judges and words it.
 */
export function plainCall(
  { Queues: queues }: Service,
  store: QueueStore,
  operation: string,
  text: string,
): Reply | undefined {
  if (!["SendMessage", "SendMessageBatch", "ChangeMessageVisibilityBatch"].includes(operation)) return undefined;
  try {
    const { QueueUrl, ...input } = JSON.parse(text) as Record<string, unknown>;
    const [, name, ...more] = String(QueueUrl).split(`/${accountId}/`);
    const queue = queues.find(({ QueueName }) => QueueName === name);
    if (queue === undefined || queue.FifoQueue || more.length > 0) return undefined;
    if (operation === "SendMessage") return replyOf(sent(queue, store, input));
    const { Entries, ...others } = input;
    if (!Array.isArray(Entries) || Object.keys(others).length > 0) return undefined;
    const done = operation === "SendMessageBatch" ? sentEntry(queue, store, Entries) : hidden(queue, store, Entries);
    return replyOf(done && { Successful: done });
  } catch {
    return undefined;
  }
}

const replyOf = (body: Reply["body"] | undefined): Reply | undefined => body && { status: 200, body };

function sent({ QueueName, MaximumMessageSize }: Queue, store: QueueStore, message: object) {
  if (!isPlain(message) || faultOf(message, MaximumMessageSize) !== undefined) return undefined;
  const { MessageBody: body, MessageGroupId: groupId, DelaySeconds: delaySeconds } = message;
  const { messageId: MessageId, bodyMd5: MD5OfMessageBody } = store.send(QueueName, { body, groupId, delaySeconds });
  return { MessageId, MD5OfMessageBody };
}

/** Sends the only entry of a batch: of several, the later ones may fail. */
function sentEntry(queue: Queue, store: QueueStore, [entry, ...others]: Record<string, unknown>[]) {
  const { Id, ...message } = entry ?? {};
  const one = others.length === 0 && isId(Id) ? sent(queue, store, message) : undefined;
  return one && [{ Id, ...one }];
}

/** Hides messages. The library can do it again, which it cannot where several are shown: those are hidden no more. */
function hidden({ QueueName }: Queue, store: QueueStore, entries: readonly Hidden[]) {
  const isWhole = new Set(entries.map(({ Id }) => Id)).size === entries.length && entries.length <= maxEntries;
  if (entries.length === 0 || !isWhole || !entries.every(isHidden)) return undefined;
  if (entries.length > 1 && entries.some(({ VisibilityTimeout }) => VisibilityTimeout === 0)) return undefined;
  for (const { ReceiptHandle, VisibilityTimeout } of entries) {
    store.changeVisibility(QueueName, ReceiptHandle, VisibilityTimeout);
  }
  return entries.map(({ Id }) => ({ Id }));
}

const isHidden = (entry: Hidden): boolean =>
  isId(entry.Id) &&
  typeof entry.ReceiptHandle === "string" &&
  isWithin(entry.VisibilityTimeout, 43_200) &&
  Object.keys(entry).length === 3;

const isId = (id: unknown): boolean => typeof id === "string" && /^[\w-]{1,80}$/.test(id);
const isWithin = (number: number, most: number): boolean => Number.isInteger(number) && number >= 0 && number <= most;

function isPlain(message: object): message is PlainMessage {
  const { MessageBody, MessageGroupId = "any", DelaySeconds = 0, ...others } = message as Partial<PlainMessage>;
  const isGroup = typeof MessageGroupId === "string" && /^[\w-]{1,128}$/.test(MessageGroupId);
  const isBody = typeof MessageBody === "string" && MessageBody !== "";
  return isBody && isGroup && isWithin(DelaySeconds, 900) && Object.keys(others).length === 0;
}
