import { createHash } from "node:crypto";
import http, { type IncomingMessage } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { Duplex, Readable } from "node:stream";

/** What the stub answered, by operation: `UpdateItem`, `SendMessage`, ... */
export const counts = new Map<string, number>();

/** The bytes of each item that was put, as DynamoDB counts them. */
export const itemBytes: number[] = [];

/** The item that reads and updates answer. */
let storedItem: unknown = {};

export function answerItemsWith(item: unknown): void {
  storedItem = item;
}

const answers: Record<string, (input: Record<string, unknown>) => unknown> = {
  GetItem: () => ({ Item: storedItem }),
  UpdateItem: ({ ReturnValues }) => (ReturnValues === "ALL_NEW" ? { Attributes: storedItem } : {}),
  PutItem: ({ Item }) => {
    itemBytes.push(JSON.stringify(Item).length);
    return {};
  },
  SendMessage: ({ MessageBody }) => ({
    MessageId: "219f8380-5770-4cc2-8c3e-5c715e145f5e",
    MD5OfMessageBody: createHash("md5").update(String(MessageBody)).digest("hex"),
  }),
  ChangeMessageVisibility: () => ({}),
  ChangeMessageVisibilityBatch: ({ Entries }) => ({
    Successful: (Entries as { Id: string }[]).map(({ Id }) => ({ Id })),
  }),
};

/** A request that never leaves the process. */
class StubRequest extends Duplex {
  readonly #target: string;
  readonly #chunks: Buffer[] = [];
  readonly #onResponse: (response: IncomingMessage) => void;

  constructor(headers: Record<string, string>, onResponse: (response: IncomingMessage) => void) {
    super();
    const target = Object.entries(headers).find(([name]) => name.toLowerCase() === "x-amz-target")?.[1] ?? "";
    this.#target = target.split(".").at(-1) ?? "";
    this.#onResponse = onResponse;
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
    this.#onResponse(Object.assign(response, { statusCode: 200, headers }) as unknown as IncomingMessage);
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
  const request = (options: { headers: Record<string, string> }, onResponse: (response: IncomingMessage) => void) =>
    new StubRequest(options.headers, onResponse);
  http.request = request as unknown as typeof http.request;
  syncBuiltinESMExports();
}
