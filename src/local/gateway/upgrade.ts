import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

/** True for a request to open a WebSocket connection on this path. */
export const asksForWebSocket = ({ headers, url = "" }: IncomingMessage, path: string): boolean =>
  headers.upgrade?.toLowerCase() === "websocket" && url.split("?")[0] === path;

/** Headers that only an upgrade needs. */
const ofUpgrades = ["upgrade", "http2-settings"];

/**
 * Puts a request that offers another protocol back into its connection, without the offer. A server has to answer it
 * like any request: Java's client offers HTTP/2 with each one. Node would leave it to the listener of upgrades.
 */
export function withoutUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Duplex {
  const { method, url, httpVersion, rawHeaders } = request;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = "", value = ""] = rawHeaders.slice(index, index + 2);
    if (ofUpgrades.includes(name.toLowerCase())) continue;
    lines.push(`${name}: ${name.toLowerCase() === "connection" ? keptOf(value) : value}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
  return socket;
}

/** Options of a `Connection` header besides the upgrade. */
function keptOf(value: string): string {
  const words = value.split(",").map((word) => word.trim());
  return words.filter((word) => !ofUpgrades.includes(word.toLowerCase())).join(", ");
}
