import { AsyncLocalStorage } from "node:async_hooks";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createRequestHandler } from "local-aws-sqs";
import type { Clock } from "../../core/ports/tasks.ts";
import type { Door } from "../direct/doors.ts";
import type { DiskFaults } from "../disk/disk-faults.ts";
import { onlyOnce, open } from "../net/endpoint.ts";
import { readBody, replay } from "../net/request.ts";
import { machineTimers, systemClock } from "../time/clock.ts";
import type { Queue, Service } from "./library.ts";
import { batchFault, type SentMessage } from "./message-rules.ts";
import { refusesDeletion } from "./own-queues.ts";
import { plainCall } from "./plain-calls.ts";
import { accountId, type QueueSettings, queueArn, region } from "./queue-message.ts";
import { QueueStore } from "./queue-store.ts";
import { type Call, linkStore, type StoreLink } from "./sqs-queue.ts";

/** A queue that the server creates at its start. Settings that are absent have SQS's defaults. */
export interface QueueSpec extends Partial<QueueSettings> {
  name: string;
}

export interface SqsOptions {
  /** 0 means any free port. */
  port: number;
  /** Folder of the database. Undefined: the queues are in memory. */
  stateDir: string | undefined;
  queues: readonly QueueSpec[];
  /** Default: the machine's clock. */
  clock?: Clock;
  /** Default: faults are not printed. */
  faults?: DiskFaults | undefined;
}

export interface Sqs {
  url: string;
  /** The same queues without HTTP. */
  store: QueueStore;
  /** The operations of the API without HTTP, but for long polls. */
  call: Door;
  /** Answers open long polls with no messages, and stops. */
  close(): Promise<void>;
}

/** Queue attributes that a client can set, and that are stored with the queue. */
const storedAttributes = [
  "DelaySeconds",
  "MaximumMessageSize",
  "MessageRetentionPeriod",
  "Policy",
  "ReceiveMessageWaitTimeSeconds",
  "RedriveAllowPolicy",
  "RedrivePolicy",
  "VisibilityTimeout",
] as const;

interface WireQueue {
  QueueName: string;
  Attributes?: Record<string, string>;
  tags?: Record<string, string>;
}

/**
 * Starts an emulator of SQS on 127.0.0.1. Queue URLs are `<url>/000000000000/<name>`. Queues that clients create are
 * stored with their attributes. FIFO queues are in memory only.
 * @throws EADDRINUSE when the port is taken; Error when another server uses the state directory
 */
export async function startSqs(options: SqsOptions): Promise<Sqs> {
  const { clock = systemClock, stateDir, faults } = options;
  const store = new QueueStore({ stateDir, clock, faults });
  try {
    // A long poll keeps the machine's time.
    return await serve({ ...options, clock: options.clock ?? machineTimers }, store);
  } catch (error) {
    store.close();
    throw error;
  }
}

async function serve({ port, queues, clock }: SqsOptions & { clock: Clock }, store: QueueStore): Promise<Sqs> {
  const calls = new AsyncLocalStorage<Call>();
  const closing = new AbortController();
  const { service, requestHandler } = createRequestHandler({
    port,
    hostname: "127.0.0.1",
    accountId,
    region,
    emulateQueueCreationLifecycle: false,
    validateDlqDestination: false,
    queues: initialQueues(queues, store),
  });
  service.validateDlqDestination = true;
  const own = new Set(queues.map(({ name }) => name));
  linkAll(service, { store, clock, call: () => calls.getStore() }, own);
  const server = createServer((request, response) => {
    const call = { signal: endOf(response, closing.signal), xml: request.headers["x-amz-target"] === undefined };
    calls.run(call, () => answer(request, response, requestHandler, own));
  });
  const library = doorTo((...message) => answerTo(...message, requestHandler, own));
  const call: Door = async (operation, text) => plainCall(service, store, operation, text) ?? library(operation, text);
  const endpoint = await open(server, port);
  service.PORT = endpoint.port;
  const close = onlyOnce(async () => {
    closing.abort();
    await endpoint.close();
    store.close();
  });
  return { url: endpoint.url, store, call, close };
}

type Handler = ReturnType<typeof createRequestHandler>["requestHandler"];

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  handle: Handler,
  own: ReadonlySet<string>,
): Promise<void> {
  const body = await readBody(request);
  if (body !== undefined) await answerTo(request, body, response, handle, own);
}

async function answerTo(
  request: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
  handle: Handler,
  own: ReadonlySet<string>,
): Promise<void> {
  try {
    if (refusesDeletion(request, body, response, own)) return;
    const tooLong = request.headers["x-amz-target"] === "AmazonSQS.SendMessageBatch" ? batchFaultOf(body) : undefined;
    if (tooLong !== undefined) {
      response.writeHead(400, { "x-amzn-query-error": "AWS.SimpleQueueService.BatchRequestTooLong;Sender" });
      response.end(JSON.stringify({ __type: "com.amazonaws.sqs#BatchRequestTooLong", message: tooLong }));
      return;
    }
    await handle(replay(request, withSystemAttributes(request, body)), response);
  } catch {
    // The library throws for a request of neither protocol.
    response.writeHead(400).end();
  }
}

/**
 * A way to the library without HTTP: it gets what it uses of a request and a response, so that it checks all that it
 * checks of a request.
 */
function doorTo(handle: (request: IncomingMessage, body: Buffer, response: ServerResponse) => Promise<void>): Door {
  return (operation, text) =>
    new Promise((resolve) => {
      const response = {
        statusCode: 200,
        setHeader() {},
        writeHead(status: number) {
          response.statusCode = status;
          return response;
        },
        end(answer = "") {
          resolve({ status: response.statusCode, body: answer === "" ? {} : JSON.parse(answer) });
        },
      };
      const headers = { "content-type": "application/x-amz-json-1.0", "x-amz-target": `AmazonSQS.${operation}` };
      const request = { headers, method: "POST", url: "/" } as unknown as IncomingMessage;
      void handle(request, Buffer.from(text), response as unknown as ServerResponse);
    });
}

function batchFaultOf(body: Buffer): string | undefined {
  const { Entries = [] } = JSON.parse(body.toString()) as { Entries?: SentMessage[] };
  return batchFault(Entries);
}

/** Renames a parameter of ReceiveMessage: SDKs send its newer name, the library reads the older one. */
function withSystemAttributes(request: IncomingMessage, body: Buffer): Buffer {
  if (!body.includes("MessageSystemAttributeName")) return body;
  const target = request.headers["x-amz-target"];
  if (target === undefined) {
    return Buffer.from(body.toString().replaceAll(/(^|&)MessageSystemAttributeName\./g, "$1AttributeName."));
  }
  if (target !== "AmazonSQS.ReceiveMessage") return body;
  const { MessageSystemAttributeNames: names = [], AttributeNames = [], ...rest } = JSON.parse(body.toString());
  return Buffer.from(JSON.stringify({ ...rest, AttributeNames: [...AttributeNames, ...names] }));
}

/** Aborts when the client disconnects or the server stops. */
function endOf(response: ServerResponse, closing: AbortSignal): AbortSignal {
  const disconnected = new AbortController();
  response.on("close", () => disconnected.abort());
  return AbortSignal.any([disconnected.signal, closing]);
}

/** The given queues, and the queues that clients created before this start. */
function initialQueues(specs: readonly QueueSpec[], store: QueueStore): WireQueue[] {
  const given = new Set(specs.map(({ name }) => name));
  const created = store.rows.definitions().filter(({ name }) => !given.has(name));
  return [...specs.map(toWire), ...created.map(({ definition }) => JSON.parse(definition) as WireQueue)];
}

function toWire({ name, visibilitySeconds, delaySeconds, retentionSeconds, redrive }: QueueSpec): WireQueue {
  const attributes: Record<string, string> = {};
  if (visibilitySeconds !== undefined) attributes.VisibilityTimeout = String(visibilitySeconds);
  if (delaySeconds !== undefined) attributes.DelaySeconds = String(delaySeconds);
  if (retentionSeconds !== undefined) attributes.MessageRetentionPeriod = String(retentionSeconds);
  if (redrive !== undefined) {
    const { target, maxReceiveCount } = redrive;
    attributes.RedrivePolicy = JSON.stringify({ deadLetterTargetArn: queueArn(target), maxReceiveCount });
  }
  return { QueueName: name, Attributes: attributes };
}

/**
 * Links the store to all queues, also to those that clients create later. Saves the definitions of the queues that
 * clients create, and deletes them with the queues.
 */
function linkAll({ Queues: queues }: Service, link: Omit<StoreLink, "changed">, given: ReadonlySet<string>): void {
  const { rows } = link.store;
  const changed = (queue: Queue) => {
    if (!given.has(queue.QueueName)) rows.saveDefinition(queue.QueueName, JSON.stringify(definitionOf(queue)));
  };
  const linkOne = (queue: Queue) => {
    if (!queue.FifoQueue) linkStore(queue, { ...link, changed });
  };
  queues.forEach(linkOne);
  queues.push = (...added) => {
    for (const queue of added.filter(({ FifoQueue }) => !FifoQueue)) {
      linkOne(queue);
      changed(queue);
    }
    return Array.prototype.push.apply(queues, added);
  };
  queues.splice = (start: number, count = 0) => {
    const removed = Array.prototype.splice.call(queues, start, count) as Queue[];
    for (const { QueueName } of removed) rows.deleteDefinition(QueueName);
    return removed;
  };
}

function definitionOf(queue: Queue): WireQueue {
  const attributes = queue.getAttributes(["All"]) as Record<string, string>;
  const settable = storedAttributes.flatMap((name) =>
    attributes[name] === undefined ? [] : [[name, attributes[name]]],
  );
  return { QueueName: queue.QueueName, Attributes: Object.fromEntries(settable), tags: queue.Tags };
}
