import type { Clock } from "../../core/ports/tasks.ts";
import { type Failures, failures, type Queue } from "./library.ts";
import { faultOf, type SentMessage } from "./message-rules.ts";
import { MoveTask } from "./move-task.ts";
import type { NewMessage, QueueSettings, ReceivedMessage } from "./queue-message.ts";
import type { MessageAttributes } from "./queue-rows.ts";
import type { QueueStore } from "./queue-store.ts";

/** Number of move tasks that a queue lists, as in SQS. */
const maxListedMoves = 10;

/** The request that is being answered. */
export interface Call {
  /** Aborts when the client disconnects or the server stops. */
  signal: AbortSignal;
  /** True for the query protocol, whose answers are XML; false for JSON. */
  xml: boolean;
}

/** The store that a queue of the library gets, and what goes with it. */
export interface StoreLink {
  store: QueueStore;
  clock: Clock;
  call(): Call | undefined;
  /** Called after a client changed the queue's attributes. */
  changed(queue: Queue): void;
}

/** A SendMessage request as the library passes it on. */
interface WireRecord {
  MessageId: string;
  MessageBody: string;
  MessageAttributes?: MessageAttributes;
  attributes: Record<string, string>;
}

/** Replaces the queue's operations by those of the store. The library then only handles the wire protocols. */
export function linkStore(queue: Queue, link: StoreLink): void {
  const name = queue.QueueName;
  const { store } = link;
  const fail = failures(queue);
  const setAttributes = queue.setAttributes.bind(queue);
  const getAttributes = queue.getAttributes.bind(queue);
  const setRecord = queue.setRecord.bind(queue);
  const purge = () => store.purge(name);
  store.define(name, settingsOf(queue));
  const operations = {
    setRecord(message: SentMessage, messageId?: string) {
      const fault = faultOf(message, queue.MaximumMessageSize);
      if (fault !== undefined) throw fail.because(fault.code, fault.message);
      return setRecord(message, messageId);
    },
    newRecord(record: WireRecord, delaySeconds?: number) {
      store.send(name, toMessage(record, delaySeconds));
      return { record };
    },
    receive: (request: Record<string, unknown>) => receive(queue, request, link),
    delete: (handle: string) => fail.translate(() => store.delete(name, handle)),
    changeVisibility: (handle: string, seconds: string) =>
      fail.translate(() => store.changeVisibility(name, handle, Number(seconds))),
    getAttributes(names?: string[]) {
      const attributes = getAttributes(names);
      return attributes && { ...attributes, ...pickAsked(attributes, countsOf(store, name)) };
    },
    setAttributes(attributes: Parameters<Queue["setAttributes"]>[0]) {
      setAttributes(attributes);
      store.define(name, settingsOf(queue));
      link.changed(queue);
    },
    clearRecords: purge,
    purge(done?: () => void) {
      purge();
      done?.();
      return true;
    },
    ...moveOperations(queue, link, fail),
  };
  Object.assign(queue, fail.withFaults(operations));
}

async function receive(queue: Queue, request: Record<string, unknown>, { store, clock, call }: StoreLink) {
  const { signal, xml } = call() ?? { signal: undefined, xml: false };
  const visibilitySeconds = numberOr(undefined, request.VisibilityTimeout);
  const waitSeconds = numberOr(queue.ReceiveMessageWaitTimeSeconds, request.WaitTimeSeconds) ?? 0;
  const max = numberOr(1, request.MaxNumberOfMessages) ?? 1;
  const polling = new AbortController();
  const stop = () => polling.abort();
  const cancelTimer = clock.after(waitSeconds * 1000, stop);
  if (signal?.aborted || waitSeconds === 0) stop();
  signal?.addEventListener("abort", stop);
  try {
    for (;;) {
      const messages = signal?.aborted ? [] : store.receive(queue.QueueName, max, { visibilitySeconds });
      if (messages.length > 0 || polling.signal.aborted) return messages.map((message) => toRecord(message, xml));
      await store.whenAvailable(queue.QueueName, polling.signal);
    }
  } finally {
    cancelTimer();
    signal?.removeEventListener("abort", stop);
  }
}

/** StartMessageMoveTask, ListMessageMoveTasks and CancelMessageMoveTask of one queue. */
function moveOperations(queue: Queue, { store, clock }: StoreLink, fail: Failures) {
  const tasks: MoveTask[] = [];
  const exists = (name: string) => queue.service.Queues.some(({ QueueName }) => QueueName === name);
  return {
    startMessageMoveTask({ DestinationArn, MaxNumberOfMessagesPerSecond }: Record<string, never>) {
      if (tasks.some((task) => task.running)) {
        throw fail.because(
          "InvalidParameterValue",
          "There is already a task running. Only one active task is allowed.",
        );
      }
      const source = queue.QueueName;
      const perSecond = MaxNumberOfMessagesPerSecond;
      const task = new MoveTask({ store, clock, source, destinationArn: DestinationArn, perSecond, exists });
      tasks.unshift(task);
      tasks.splice(maxListedMoves);
      return task.handle;
    },
    listMessageMoveTasks: (max: number) => tasks.slice(0, max).map((task) => task.state()),
    cancelMessageMoveTask(id: string) {
      const task = tasks.find((each) => each.id === id);
      if (task === undefined) throw fail.because("ResourceNotFoundException", "Task does not exist.");
      if (!task.running) throw fail.because("InvalidParameterValue", "Only active tasks can be cancelled.");
      return task.cancel();
    },
  };
}

function settingsOf(queue: Queue): QueueSettings {
  const { RedrivePolicy: policy } = queue;
  const target = policy?.deadLetterTargetArn.split(":").at(-1);
  return {
    visibilitySeconds: queue.VisibilityTimeout,
    delaySeconds: queue.DelaySeconds,
    retentionSeconds: queue.MessageRetentionPeriod,
    redrive: policy && target ? { target, maxReceiveCount: Number(policy.maxReceiveCount) } : undefined,
  };
}

function countsOf(store: QueueStore, name: string): Record<string, string> {
  const { visible, inFlight, delayed } = store.counts(name);
  return {
    ApproximateNumberOfMessages: String(visible),
    ApproximateNumberOfMessagesNotVisible: String(inFlight),
    ApproximateNumberOfMessagesDelayed: String(delayed),
  };
}

/** The values of the attributes that the client asked for. */
function pickAsked(asked: object, values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => name in asked));
}

function toMessage(record: WireRecord, delaySeconds: number | undefined): NewMessage {
  return {
    messageId: record.MessageId,
    body: record.MessageBody,
    messageAttributes: record.MessageAttributes,
    groupId: record.attributes.MessageGroupId,
    traceHeader: record.attributes.AWSTraceHeader,
    delaySeconds: numberOr(undefined, delaySeconds),
  };
}

/** A message as the library writes it into an answer. The library does not escape texts for XML. */
function toRecord(message: ReceivedMessage, xml: boolean) {
  const write = xml ? escaped : (value: string) => value;
  const attributes = Object.entries(message.messageAttributes ?? {}).map(([name, value]) => {
    return [name, value.StringValue === undefined ? value : { ...value, StringValue: write(value.StringValue) }];
  });
  return {
    MessageId: message.messageId,
    ReceiptHandle: message.receiptHandle,
    MessageBody: write(message.body),
    MD5OfMessageBody: message.bodyMd5,
    attributes: message.attributes,
    MessageAttributes: attributes.length > 0 ? Object.fromEntries(attributes) : undefined,
  };
}

function escaped(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** A parameter as a number, whether it came as JSON or as text. */
function numberOr(otherwise: number | undefined, value: unknown): number | undefined {
  const number = value === undefined || value === null || value === "" ? Number.NaN : Number(value);
  return Number.isNaN(number) ? otherwise : number;
}
