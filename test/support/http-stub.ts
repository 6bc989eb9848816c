import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A request that the stub got. */
export interface StubRequest {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface StubAnswer {
  readonly status?: number;
  readonly body?: string | Buffer;
}

/** Starts an HTTP server for one test. Returns its URL, and the requests that it got. */
export async function httpStub(answer: (request: StubRequest) => StubAnswer) {
  const requests: StubRequest[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method, url, headers } = request;
    const got = { method, url, headers, body: Buffer.concat(chunks).toString("utf8") };
    requests.push(got);
    const { status = 200, body = "{}" } = answer(got);
    response.writeHead(status).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}
