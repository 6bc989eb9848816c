import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";

/** Address of the receiver that the deployment under test allows. */
export const receiverHost = "127.0.0.1:39457";

/** A webhook as it arrived. */
export interface Received {
  atMs: number;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  json: { type: string; timestamp: string; data: Record<string, unknown> };
}

/** Status of the answer, with headers and a body, or `hang`: the connection stays open without an answer. */
export type Answering = (
  received: Received,
  number: number,
) => number | [status: number, headers: Record<string, string>, body?: string] | "hang";

/** A receiver of webhooks: each path has its own answers. */
export class Receiver {
  readonly #server: Server;
  readonly #answers = new Map<string, Answering>();
  readonly #received = new Map<string, Received[]>();
  #paths = 0;

  private constructor() {
    this.#server = createServer((request, response) => {
      const path = request.url ?? "";
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => parts.push(part));
      request.on("end", () => {
        const body = Buffer.concat(parts).toString("utf8");
        const received = { atMs: Date.now(), path, headers: request.headers, body, json: JSON.parse(body) };
        const all = this.at(path);
        all.push(received);
        const answer = this.#answers.get(path)?.(received, all.length) ?? 404;
        if (answer === "hang") return;
        const [status, headers, text] = typeof answer === "number" ? [answer, {}] : answer;
        response.writeHead(status, headers).end(text);
      });
    });
  }

  static async start(port = Number(receiverHost.split(":")[1])): Promise<Receiver> {
    const receiver = new Receiver();
    receiver.#server.listen(port, "127.0.0.1");
    await once(receiver.#server, "listening");
    return receiver;
  }

  get host(): string {
    const address = this.#server.address();
    return `127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  }

  /** Returns a URL of its own, with its answers. */
  url(answering: Answering): string {
    this.#paths += 1;
    const path = `/hook-${process.pid}-${this.#paths}`;
    this.#answers.set(path, answering);
    return `http://${this.host}${path}`;
  }

  /** What arrived at a URL or path so far. */
  at(url: string): Received[] {
    const path = url.startsWith("/") ? url : new URL(url).pathname;
    const all = this.#received.get(path) ?? [];
    this.#received.set(path, all);
    return all;
  }

  /** Resolves when a URL has got this many webhooks. */
  async got(url: string, count: number, timeoutMs = 240_000): Promise<Received[]> {
    const untilMs = Date.now() + timeoutMs;
    while (this.at(url).length < count) {
      if (Date.now() > untilMs) throw new Error(`expected ${count} webhooks, got ${this.at(url).length}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return this.at(url);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** Verifies a signature as Standard Webhooks describes it, with code of its own. */
export function isSigned({ headers, body }: Received, secret: string): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const text = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  const expected = createHmac("sha256", key).update(text).digest();
  return String(headers["webhook-signature"])
    .split(" ")
    .filter((one) => one.startsWith("v1,"))
    .map((one) => Buffer.from(one.slice(3), "base64"))
    .some((given) => given.length === expected.length && timingSafeEqual(given, expected));
}
