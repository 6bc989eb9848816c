import type { createRequestHandler } from "local-aws-sqs";
import type { Clock } from "../../core/ports.ts";
import { MoveTask } from "./move-task.ts";
import type { NewMessage, QueueSettings, ReceivedMessage } from "./queue-message.ts";
import type { MessageAttributes } from "./queue-rows.ts";
import type { QueueStore } from "./queue-store.ts";
import { ReceiptError } from "./receipt.ts";

export type Service = ReturnType<typeof createRequestHandler>["service"];
export type Queue = Service["Queues"][number];

/** Finished move tasks that a queue remembers, as in SQS. */
const movesKept = 10;

/** The request that a queue works for. */
export interface Call {
  /** Aborts when the client has gone or the server stops. */
  signal: AbortSignal;
  /** Whether the answer is XML, the older of the two protocols. */
  xml: boolean;
}

export interface Backing {
  store: QueueStore;
  clock: Clock;
  /** The request being answered. */
  call(): Call | undefined;
  /** Called after a client changed the queue's attributes. */
  changed(queue: Queue): void;
}

/** What the library builds of a SendMessage request. */
interface WireRecord {
  MessageId: string;
  MessageBody: string;
  MessageAttributes?: MessageAttributes;
  attributes: Record<string, string>;
}

/** Puts our store under a queue of the library, which then only speaks the protocols. */
export function back(queue: Queue, backing: Backing): void {
  const name = queue.QueueName;
  const { store } = backing;
  const fail = failures(queue);
  const setAttributes = queue.setAttributes.bind(queue);
  const getAttributes = queue.getAttributes.bind(queue);
  const purge = () => store.purge(name);
  store.define(name, settingsOf(queue));
  Object.assign(queue, {
    newRecord(record: WireRecord, delaySeconds?: number) {
      checkSize(record, queue, fail);
      store.send(name, toMessage(record, delaySeconds));
      return { record };
    },
    receive: (request: Record<string, unknown>) => receive(queue, request, backing),
    delete: (handle: string) => fail.translate(() => store.delete(name, handle)),
    changeVisibility: (handle: string, seconds: string) =>
      fail.translate(() => store.changeVisibility(name, handle, Number(seconds))),
    getAttributes(names?: string[]) {
      const attributes = getAttributes(names);
      return attributes && { ...attributes, ...only(attributes, countsOf(store, name)) };
    },
    setAttributes(attributes: Parameters<Queue["setAttributes"]>[0]) {
      setAttributes(attributes);
      store.define(name, settingsOf(queue));
      backing.changed(queue);
    },
    clearRecords: purge,
    purge(done?: () => void) {
      purge();
      done?.();
      return true;
    },
    ...moves(queue, backing, fail),
  });
}

async function receive(queue: Queue, request: Record<string, unknown>, { store, clock, call }: Backing) {
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
function moves(queue: Queue, { store, clock }: Backing, fail: Failures) {
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
      tasks.splice(movesKept);
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

function only(asked: object, values: Record<string, string>): Record<string, string> {
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

/** What the library answers ReceiveMessage from. It puts texts into XML as they are. */
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

function numberOr(otherwise: number | undefined, value: unknown): number | undefined {
  const number = value === undefined || value === null || value === "" ? Number.NaN : Number(value);
  return Number.isNaN(number) ? otherwise : number;
}

/** The library counts characters; SQS counts bytes. */
function checkSize({ MessageBody }: WireRecord, { MaximumMessageSize }: Queue, fail: Failures): void {
  if (Buffer.byteLength(MessageBody) <= MaximumMessageSize) return;
  const reason = `Message must be shorter than ${MaximumMessageSize} bytes.`;
  throw fail.because("InvalidParameterValue", `One or more parameters are invalid. Reason: ${reason}`);
}

type Failures = ReturnType<typeof failures>;

/** Types and codes of the two protocols for the errors that we throw ourselves. */
const wireErrors = {
  InvalidParameterValue: { Type: "com.amazon.coral.service#InvalidParameterValueException" },
  ReceiptHandleIsInvalid: { Type: "com.amazonaws.sqs#ReceiptHandleIsInvalid" },
  ResourceNotFoundException: { Type: "com.amazonaws.sqs#ResourceNotFoundException", statusCode: 404 },
  MessageNotInflight: {
    Type: "com.amazonaws.sqs#MessageNotInflight",
    Code: "AWS.SimpleQueueService.MessageNotInflight",
  },
} as const;

type WireError = new (error: { Code: string; Type: string; Message: string; statusCode?: number }) => Error;

/** Makes errors of the library's own class, which it does not export: only those become proper answers. */
function failures(queue: Queue) {
  const WireError = errorClass(queue);
  const because = (code: keyof typeof wireErrors, message: string) =>
    new WireError({ Code: code, Message: message, ...wireErrors[code] });
  function translate(work: () => void): true {
    try {
      work();
      return true;
    } catch (error) {
      throw error instanceof ReceiptError ? because(error.code, error.message) : error;
    }
  }
  return { because, translate };
}

function errorClass(queue: Queue): WireError {
  try {
    queue.delete("");
  } catch (error) {
    return Object.getPrototypeOf((error as Error).constructor) as WireError;
  }
  throw new Error("local-aws-sqs accepted an empty receipt handle: its version does not fit");
}
