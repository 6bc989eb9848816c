import { createHash } from "node:crypto";
import http, { type IncomingMessage } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { Duplex, Readable } from "node:stream";
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { catalogKey } from "../../src/settings/config.ts";

/** What the stub answered, by operation: `UpdateItem`, `SendMessage`, ... */
export const counts = new Map<string, number>();

/** What DynamoDB would charge for the stub's writes, and the largest item that was put. */
export const written = { units: 0, largestItemBytes: 0 };

type Attributes = Record<string, AttributeValue>;

/** The item that reads and updates answer. */
let storedItem: Attributes = {};

export function answerItemsWith(item: Attributes): void {
  storedItem = item;
}

/** The item with the catalogue of task types, which callers that submit directly read. */
let catalogItem: Attributes = {};

export function answerCatalogWith(item: Attributes): void {
  catalogItem = item;
}

const unitsOf = (bytes: number): number => Math.ceil(bytes / 1024);

/** An item's size as DynamoDB charges it: its names and values, three bytes for a list or map and one for each member. */
function bytesOf(item: Attributes): number {
  return Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueBytes(value), 0);
}

function valueBytes({ S, N, L, M }: AttributeValue): number {
  if (S !== undefined) return Buffer.byteLength(S);
  if (N !== undefined) return Math.ceil(N.length / 2) + 1;
  if (L !== undefined) return L.reduce((sum, value) => sum + 1 + valueBytes(value), 3);
  if (M !== undefined) return bytesOf(M) + Object.keys(M).length + 3;
  return 1;
}

const answers: Record<string, (input: Record<string, unknown>) => unknown> = {
  GetItem: ({ Key }) => ({ Item: (Key as Attributes).pk?.S === catalogKey ? catalogItem : storedItem }),
  // No pause and no limit was set.
  Query: () => ({ Items: [], Count: 0 }),
  UpdateItem: ({ ReturnValues }) => {
    // The keys of the indexes, and what they hold, stay as they are: no index is written.
    written.units += unitsOf(bytesOf(storedItem));
    return ReturnValues === "ALL_NEW" ? { Attributes: storedItem } : {};
  },
  PutItem: ({ Item }) => {
    const item = Item as Attributes;
    const bytes = bytesOf(item);
    const indexes = Object.keys(item).filter((name) => name.endsWith("_pk")).length;
    written.units += unitsOf(bytes) + indexes;
    written.largestItemBytes = Math.max(written.largestItemBytes, bytes);
    return {};
  },
  SendMessage: ({ MessageBody }) => ({
    MessageId: "219f8380-5770-4cc2-8c3e-5c715e145f5e",
    MD5OfMessageBody: createHash("md5").update(String(MessageBody)).digest("hex"),
  }),
  // A step that has returned is stored, as AWS answers it: with what the request changed.
  CheckpointDurableExecution: ({ Updates }) => ({
    CheckpointToken: "a token for the next checkpoint",
    NewExecutionState: { Operations: (Updates as Update[]).map(operationOf) },
  }),
  ChangeMessageVisibility: () => ({}),
  ChangeMessageVisibilityBatch: ({ Entries }) => ({
    Successful: (Entries as { Id: string }[]).map(({ Id }) => ({ Id })),
  }),
};

/** A change in a checkpoint of a durable execution. */
interface Update {
  Id: string;
  Name?: string;
  Type: string;
  SubType?: string;
  Action: string;
  Payload?: string;
}

const operationOf = ({ Id, Name, Type, SubType, Action, Payload }: Update) => ({
  ...{ Id, Name, Type, SubType, StartTimestamp: Date.now() / 1000 },
  Status: Action === "SUCCEED" ? "SUCCEEDED" : "STARTED",
  StepDetails: { Attempt: 1, ...(Payload !== undefined && { Result: Payload }) },
});

/** The operation of a request: DynamoDB and SQS name it in a header, Lambda by the path. */
function operationNamed(headers: Record<string, string>, path: string): string {
  const target = Object.entries(headers).find(([name]) => name.toLowerCase() === "x-amz-target")?.[1] ?? "";
  if (target !== "") return target.split(".").at(-1) ?? "";
  return path.endsWith("/checkpoint") ? "CheckpointDurableExecution" : path;
}

/** A request that never leaves the process. */
class StubRequest extends Duplex {
  readonly #target: string;
  readonly #chunks: Buffer[] = [];

  constructor(operation: string, onResponse?: (response: IncomingMessage) => void) {
    super();
    this.#target = operation;
    if (onResponse !== undefined) this.once("response", onResponse);
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }

  override _final(done: () => void): void {
    done();
    const text = answerTo(this.#target, Buffer.concat(this.#chunks).toString("utf8"));
    const response = Readable.from([Buffer.from(text)], { objectMode: false });
    const headers = { "content-type": "application/x-amz-json-1.0", "x-amzn-requestid": "stub" };
    this.emit("response", Object.assign(response, { statusCode: 200, headers }));
  }

  override _read(): void {}

  setTimeout(): this {
    return this;
  }
}

/** What the stub makes of a request, given as JSON. */
export function answerTo(operation: string, body: string): string {
  const answer = answers[operation];
  if (answer === undefined) throw new Error(`the stub does not know ${operation}`);
  counts.set(operation, (counts.get(operation) ?? 0) + 1);
  return JSON.stringify(answer(JSON.parse(body)));
}

/**
 * Answers AWS's requests of this process at once, in the place of Node's `http.request`: all of the SDK's work is done but
 * for the sockets, the same for whoever asks.
 */
export function stubTransport(): void {
  const request = (
    { headers, path }: { headers: Record<string, string>; path: string },
    onResponse?: (response: IncomingMessage) => void,
  ) => new StubRequest(operationNamed(headers, path), onResponse);
  http.request = request as unknown as typeof http.request;
  syncBuiltinESMExports();
}
