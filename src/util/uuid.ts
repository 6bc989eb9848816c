import { hash } from "./node-crypto.ts";

/** The UUID of version 5 of a name, by Node's SHA-1: the library's own, in JavaScript, takes ten times as long. */
export function namedUuid(name: string, namespace: string): string {
  const space = Buffer.from(namespace.replaceAll("-", ""), "hex");
  const bytes = hash("sha1", Buffer.concat([space, Buffer.from(name)]), "buffer");
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const text = bytes.toString("hex", 0, 16);
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-${text.slice(12, 16)}-${text.slice(16, 20)}-${text.slice(20)}`;
}
