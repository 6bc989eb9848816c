import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";

/** Reads the whole body. Returns undefined when the client disconnected before it had sent the body. */
export async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer);
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks);
}

/** A request whose body was already read, for a handler that reads the body itself. */
export function replay({ headers, method, url }: IncomingMessage, body: Buffer): IncomingMessage {
  const stream = new Readable({ read() {} });
  if (body.length > 0) stream.push(body);
  stream.push(null);
  return Object.assign(stream, { headers, method, url }) as unknown as IncomingMessage;
}
