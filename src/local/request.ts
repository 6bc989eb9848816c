import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";

/** The whole body, or undefined when the client went away before it had sent it. */
export async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer);
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks);
}

/** A request that was read already, for a handler that wants to read it itself. It cannot break off any more. */
export function replay({ headers, method, url }: IncomingMessage, body: Buffer): IncomingMessage {
  const stream = new Readable({ read() {} });
  if (body.length > 0) stream.push(body);
  stream.push(null);
  return Object.assign(stream, { headers, method, url }) as unknown as IncomingMessage;
}
