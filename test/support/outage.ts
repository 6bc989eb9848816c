import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Ways in which a service can be down: it accepts requests and stays silent; answers after 8 s; sends half an answer, then
 * nothing; sends half an answer, then closes the connection; refuses connections; answers each request with an error of its own;
 * with a throttle.
 */
export const outages = ["silent", "slow", "stalled", "cut", "refusing", "failing", "throttling"] as const;
export type Outage = (typeof outages)[number];

/** An answer of a slow service takes this long, in milliseconds. */
const slowMs = 8_000;

/** A stub in front of an emulator: passes requests on, except during an outage. */
export interface Stub {
  url: string;
  /** Starts an outage, for the requests whose body matches. Default: all. */
  breakDown(outage: Outage, affects?: (body: string) => boolean): Promise<void>;
  recover(): Promise<void>;
  close(): Promise<void>;
}

export async function startStub(target: string): Promise<Stub> {
  let outage: Outage | undefined;
  let affects = (_body: string) => true;
  const server = createServer(async (request, response) => {
    const body = await textOf(request);
    await answer(target, request, body, response, affects(body) ? outage : undefined).catch(() => response.destroy());
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const stop = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async breakDown(given, matches = () => true) {
      affects = matches;
      outage = given;
      if (given === "refusing") await stop();
    },
    async recover() {
      if (!server.listening) await listen(port);
      outage = undefined;
    },
    close: stop,
  };
}

async function answer(
  target: string,
  request: IncomingMessage,
  body: string,
  response: ServerResponse,
  outage: Outage | undefined,
): Promise<void> {
  if (outage === "silent") return;
  if (outage === "failing") return refuse(response, 500, "InternalServerError");
  if (outage === "throttling") return refuse(response, 400, "ThrottlingException");
  if (outage === "slow") await sleep(slowMs);
  const { status, headers, bytes } = await passOn(target, request, body);
  response.writeHead(status, { ...headers, "content-length": bytes.length });
  if (outage !== "stalled" && outage !== "cut") {
    response.end(bytes);
    return;
  }
  response.write(bytes.subarray(0, bytes.length / 2));
  if (outage === "cut") setTimeout(() => response.destroy(), 20);
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { "content-type": "application/x-amz-json-1.0", "x-amzn-errortype": code });
  response.end(JSON.stringify({ __type: `com.amazonaws#${code}`, message: "not now" }));
}

async function passOn(target: string, { method = "POST", url = "/", headers }: IncomingMessage, body: string) {
  const { host: _, connection: __, "content-length": ___, ...passed } = headers;
  const init = { method, headers: passed as Record<string, string>, ...(body !== "" && { body }) };
  const answered = await fetch(`${target}${url}`, init);
  const { "content-type": type, "x-amzn-errortype": error } = Object.fromEntries(answered.headers);
  const kept = { ...(type && { "content-type": type }), ...(error && { "x-amzn-errortype": error }) };
  return { status: answered.status, headers: kept, bytes: Buffer.from(await answered.arrayBuffer()) };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
