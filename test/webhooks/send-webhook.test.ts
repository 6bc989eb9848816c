import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer as createWebServer, type RequestListener } from "node:http";
import { createServer as createTlsWebServer, Agent as HttpsAgent } from "node:https";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { promisify } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { WebhookAnswer } from "../../src/core/ports/notify.ts";
import { createWebhookSender, type SenderOptions } from "../../src/webhooks/send-webhook.ts";
import { selfSigned } from "../support/certificate.ts";

const servers: Server[] = [];
const sockets = new Set<Socket>();
afterEach(() => {
  vi.restoreAllMocks();
  for (const socket of sockets) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

/** Lets a server listen on loopback, and returns its port. */
async function listen(server: Server): Promise<number> {
  servers.push(server);
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

const body = '{"type":"task.completed","emoji":"🦤"}';
const headers = { "content-type": "application/json", "webhook-id": "msg_1" };

interface Sending extends Partial<SenderOptions> {
  url?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Sends a webhook to a port of this machine, which is allowed. */
function sendTo(port: number, { url = `http://127.0.0.1:${port}/hook?a=b`, signal, ...more }: Sending = {}) {
  const sender = createWebhookSender({ allowedHosts: [`127.0.0.1:${port}`, `localhost:${port}`], ...more });
  return sender.send({ url, headers: more.headers ?? headers, body }, signal ?? AbortSignal.timeout(20_000));
}

const webServer = (listener: RequestListener) => createWebServer(listener);

/** A receiver that gets the whole request, and then answers these bytes. */
const rawServer = (answer: (socket: Socket) => void) =>
  createServer((socket) => {
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => {
      chunks.push(chunk);
      if (Buffer.concat(chunks).includes(body)) answer(socket);
    });
  });

describe("requests", () => {
  test("a receiver gets the body and the headers, and closes the connection", async () => {
    const seen: unknown[] = [];
    const port = await listen(
      webServer(async (request, response) => {
        seen.push(request.method, request.url, request.headers, await text(request));
        response.writeHead(202).end("thanks");
      }),
    );
    expect(await sendTo(port)).toMatchObject({ status: 202 });
    const own = { connection: "close", host: `127.0.0.1:${port}`, "content-length": String(Buffer.byteLength(body)) };
    expect(seen).toEqual(["POST", "/hook?a=b", { ...headers, ...own, "user-agent": "Offload-Webhooks/1" }, body]);
  });

  test("each webhook has a connection of its own", async () => {
    let connections = 0;
    const server = webServer((_, response) => response.end());
    server.on("connection", () => connections++);
    const port = await listen(server);
    const sender = createWebhookSender({ allowedHosts: [`127.0.0.1:${port}`] });
    const request = { url: `http://127.0.0.1:${port}/`, headers, body };
    for (let count = 0; count < 3; count++) {
      expect(await sender.send(request, AbortSignal.timeout(20_000))).toMatchObject({ status: 200 });
    }
    expect(connections).toBe(3);
  });

  test.each([
    ["a line break in a value", { "webhook-id": "a\r\nx-evil: 1" }],
    ["a lone line feed in a value", { "webhook-id": "a\nx-evil: 1" }],
    ["a zero byte", { "webhook-id": "a\u0000" }],
    ["a character that becomes a line break in Latin-1", { "webhook-id": "a\u010ax-evil: 1" }],
    ["a line break in a name", { "a\r\nx-evil": "1" }],
    ["an empty name", { "": "1" }],
    ["another host", { host: "internal" }],
    ["another length", { "content-length": "0" }],
    ["a transfer encoding", { "transfer-encoding": "chunked" }],
    ["an upgrade", { upgrade: "h2c" }],
  ])("a request with %s is not sent", async (_, evil) => {
    let connections = 0;
    const server = webServer((_, response) => response.end());
    server.on("connection", () => connections++);
    const port = await listen(server);
    const answer = await sendTo(port, { headers: evil as Record<string, string> });
    expect(answer).toEqual({ error: "the request failed with INVALID_HEADER" });
    expect(connections).toBe(0);
  });
});

describe("answers", () => {
  const answerOf = async (status: number, given: Record<string, string> = {}): Promise<WebhookAnswer> =>
    sendTo(await listen(webServer((_, response) => response.writeHead(status, given).end("text"))), {
      now: () => Date.UTC(2027, 0, 1),
    });

  test.each([200, 204, 400, 401, 404, 410, 500, 503])("the status %d is the answer", async (status) => {
    expect(await answerOf(status)).toMatchObject({ status });
  });

  test.each([
    ["120", 120],
    ["Fri, 01 Jan 2027 00:01:00 GMT", 60],
    ["99999999", 86_400],
  ])("Retry-After %s is %d seconds", async (value, retryAfterSeconds) => {
    expect(await answerOf(429, { "retry-after": value })).toMatchObject({ status: 429, retryAfterSeconds });
  });

  test("a Retry-After that is not valid is left out", async () => {
    const answer = await answerOf(503, { "retry-after": "soon" });
    expect(answer).toMatchObject({ status: 503 });
    expect(answer).not.toHaveProperty("retryAfterSeconds");
  });

  test.each([301, 302, 303, 307, 308])(
    "a redirect with %d is not followed, and its status is the answer",
    async (status) => {
      let reached = 0;
      const secret = await listen(webServer((_, response) => response.end(String(++reached))));
      const port = await listen(
        webServer((_, response) => response.writeHead(status, { location: `http://127.0.0.1:${secret}/` }).end()),
      );
      expect(await sendTo(port, { allowedHosts: [`127.0.0.1:${port}`, `127.0.0.1:${secret}`] })).toMatchObject({
        status,
      });
      expect(reached).toBe(0);
    },
  );

  test("an endless answer is cut after 64 KiB, and its status is the answer", async () => {
    let written = 0;
    let closed: Promise<unknown> = Promise.resolve();
    const port = await listen(
      webServer((_, response) => {
        response.writeHead(200);
        closed = once(response, "close");
        const more = () => {
          while (!response.destroyed && response.write("x".repeat(1024))) written += 1024;
        };
        response.on("drain", more).on("error", () => {});
        more();
      }),
    );
    // Its start is shown.
    expect(await sendTo(port)).toEqual({ status: 200, text: "x".repeat(1024) });
    await closed;
    // Buffers of the system hold more than the sender reads.
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  test("an answer that is cut off has the status that it had", async () => {
    const half = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf";
    expect(await sendTo(await listen(rawServer((socket) => socket.end(half))))).toEqual({ status: 200, text: "half" });
  });
});

describe("receivers that do not answer as they should", () => {
  const closed = "the receiver closed the connection without a complete answer";

  test.each([
    ["nothing", "", closed],
    ["half of a status line", "HTTP/1.1 20", closed],
    ["only an interim answer", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n", closed],
    ["garbage", "\u0000\u0001\u0002 garbage\r\n\r\n", "the answer is not HTTP"],
    ["the protocol of SSH", "SSH-2.0-OpenSSH_9.6\r\n", "the answer is not HTTP"],
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\na", "the answer is not HTTP"],
    ["a switch of protocols", "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", closed],
    [
      "headers of 32 KiB",
      `HTTP/1.1 200 OK\r\nx: ${"a".repeat(32_768)}\r\n\r\n`,
      "the headers of the answer are too large",
    ],
  ])("%s", async (_, sent, error) => {
    expect(await sendTo(await listen(rawServer((socket) => socket.end(sent, "latin1"))))).toEqual({ error });
  });

  test("a receiver that closes without reading", async () => {
    expect(await sendTo(await listen(createServer((socket) => socket.destroy())))).toEqual({ error: closed });
  });

  test("a receiver that resets the connection", async () => {
    const port = await listen(rawServer((socket) => socket.resetAndDestroy()));
    expect(await sendTo(port)).toEqual({ error: closed });
  });

  test("a port where nobody listens", async () => {
    const port = await listen(createServer());
    servers.pop()?.close();
    expect(await sendTo(port)).toEqual({ error: "the receiver refused the connection" });
  });
});

describe("the signal", () => {
  /** Sends to a receiver, and aborts when the receiver says so. Returns the answer once the connection is closed. */
  async function abortedAt(receiver: (abort: () => void) => Server, url?: (port: number) => string) {
    const abort = new AbortController();
    const server = receiver(() => abort.abort(new Error("no complete answer\nafter 10 s")));
    const gone = new Promise<void>((resolve) => {
      server.on("connection", (socket: Socket) => socket.on("close", () => resolve()));
    });
    const port = await listen(server);
    const answer = await sendTo(port, { signal: abort.signal, ...(url && { url: url(port) }) });
    await gone;
    return answer;
  }
  const ended = { error: "no complete answer after 10 s" };

  test("it ends a request that has no answer", async () => {
    expect(await abortedAt((abort) => webServer(() => abort()))).toEqual(ended);
  });

  test("it ends a request whose connection is not read", async () => {
    const silent = (abort: () => void) =>
      createServer({ pauseOnConnect: true }, (socket) => {
        abort();
        socket.resume();
      });
    expect(await abortedAt(silent)).toEqual(ended);
  });

  test("it ends an answer that trickles, although its status came", async () => {
    const trickle = (abort: () => void) =>
      webServer((_, response) => {
        response.writeHead(200).write("a");
        // The second write shows that the first one was sent.
        response.write("b", () => abort());
      });
    expect(await abortedAt(trickle)).toEqual(ended);
  });

  test("it ends headers that trickle", async () => {
    const trickle = (abort: () => void) => rawServer((socket) => socket.write("HTTP/1.1 200 OK\r\nx: ", () => abort()));
    expect(await abortedAt(trickle)).toEqual(ended);
  });

  test("it ends a handshake of TLS that does not go on", async () => {
    const mute = (abort: () => void) => createServer((socket) => socket.once("data", abort));
    expect(await abortedAt(mute, (port) => `https://127.0.0.1:${port}/`)).toEqual(ended);
  });

  test("it ends a question to DNS", async () => {
    const abort = new AbortController();
    const sender = createWebhookSender({
      allowedHosts: [],
      resolve: () => new Promise(() => abort.abort(new Error("too slow"))),
    });
    const answer = await sender.send({ url: "https://slow.example/", headers, body }, abort.signal);
    expect(answer).toEqual({ error: "too slow" });
  });

  test("no request is sent when it has ended before", async () => {
    let reached = 0;
    const port = await listen(webServer(() => reached++));
    expect(await sendTo(port, { signal: AbortSignal.abort("not now") })).toEqual({ error: "not now" });
    expect(reached).toBe(0);
  });

  test("its time-out is told in plain words", async () => {
    const reason = new DOMException("The operation was aborted due to timeout", "TimeoutError");
    expect(await sendTo(1, { signal: AbortSignal.abort(reason) })).toEqual({
      error: "no complete answer came in time",
    });
  });

  test("no listener stays at it", async () => {
    const port = await listen(webServer((_, response) => response.end()));
    const { signal } = new AbortController();
    const [added, removed] = [vi.spyOn(signal, "addEventListener"), vi.spyOn(signal, "removeEventListener")];
    expect(await sendTo(port, { signal })).toMatchObject({ status: 200 });
    expect(added).toHaveBeenCalledTimes(1);
    expect(removed).toHaveBeenCalledWith(...(added.mock.calls[0]?.slice(0, 2) ?? []));
  });
});

describe("certificates", () => {
  const tlsServer = (hosts: string[], validToMs?: number) => {
    const own = selfSigned(hosts, validToMs);
    return { own, server: createTlsWebServer(own, (_, response) => response.writeHead(204).end()) };
  };

  test("a receiver with a certificate for its address is reached", async () => {
    const { own, server } = tlsServer(["127.0.0.1"]);
    const port = await listen(server);
    expect(await sendTo(port, { url: `https://127.0.0.1:${port}/`, ca: own.cert })).toMatchObject({ status: 204 });
  });

  test.each([
    ["of no known authority", ["localhost"], false, undefined, "the receiver's certificate is self-signed"],
    ["for another name", ["other.example"], true, undefined, "the receiver's certificate is for another name"],
    ["that has expired", ["localhost"], true, Date.now() - 60_000, "the receiver's certificate has expired"],
  ])("a certificate %s is refused, before the request is sent", async (_, hosts, trusted, validToMs, error) => {
    const { own, server } = tlsServer(hosts, validToMs);
    let requests = 0;
    server.on("request", () => requests++);
    const port = await listen(server);
    const url = `https://localhost:${port}/`;
    expect(await sendTo(port, { url, ...(trusted && { ca: own.cert }) })).toEqual({ error });
    expect(requests).toBe(0);
  });

  test("a variable of Node cannot turn the check off", async () => {
    const { server } = tlsServer(["127.0.0.1"]);
    const port = await listen(server);
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    const answer = await sendTo(port, { url: `https://127.0.0.1:${port}/` });
    vi.unstubAllEnvs();
    expect(answer).toEqual({ error: "the receiver's certificate is self-signed" });
  });

  test("a receiver that does not speak TLS is an error", async () => {
    const port = await listen(createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")));
    expect(await sendTo(port, { url: `https://127.0.0.1:${port}/` })).toEqual({
      error: "the receiver does not speak TLS as expected",
    });
  });

  /** Leads the guarded connection to a server of this test, after a look at what Node would connect to. */
  async function guardedSend(hosts: string[]) {
    const { own, server } = tlsServer(hosts);
    const port = await listen(server);
    const judged: unknown[] = [];
    vi.spyOn(HttpsAgent.prototype, "createConnection").mockImplementation((given, callback) => {
      const { lookup, blockList: _, ...options } = given as ConnectionOptions & { blockList: unknown };
      lookup?.(options.host ?? "", { all: true }, (error, addresses) => {
        judged.push(options.servername, error ?? addresses);
        callback?.(null, connectTls({ ...options, host: "127.0.0.1", port }));
      });
      return undefined;
    });
    const sender = createWebhookSender({ allowedHosts: [], ca: own.cert, resolve: async () => ["1.1.1.1"] });
    const request = { url: "https://receiver.example./hook", headers, body };
    return { judged, answer: await sender.send(request, AbortSignal.timeout(20_000)) };
  }

  test("a guarded connection goes to the judged address, and its certificate must be for the name", async () => {
    const judged = ["receiver.example", [{ address: "1.1.1.1", family: 4 }]];
    expect(await guardedSend(["receiver.example"])).toEqual({ judged, answer: { status: 204 } });
    const error = "the receiver's certificate is for another name";
    expect(await guardedSend(["1.1.1.1", "127.0.0.1"])).toEqual({ judged, answer: { error } });
  });
});

test("no error contains the path, the query or a header", async () => {
  const url = "https://receiver.example/path-secret?query-secret";
  const secretly = { ...headers, "webhook-signature": "v1,header-secret" };
  const codes = ["ENOTFOUND", "ESERVFAIL", "EAI_FAIL", "own words\nhttps://x/path-secret", undefined, 7];
  for (const code of codes) {
    const resolve = () => Promise.reject(Object.assign(new Error(`failed for ${url}`), { code }));
    const sender = createWebhookSender({ allowedHosts: [], resolve });
    const answer = await sender.send({ url, headers: secretly, body }, AbortSignal.timeout(20_000));
    expect(answer).toEqual({ error: expect.stringMatching(/^[\w '-]+$/) });
    expect(JSON.stringify(answer)).not.toContain("secret");
  }
});

test("a DNS server that refuses connections is not told as a receiver that does", async () => {
  const refused = Object.assign(new Error("queryA ECONNREFUSED"), { code: "ECONNREFUSED", syscall: "queryA" });
  const sender = createWebhookSender({ allowedHosts: [], resolve: () => Promise.reject(refused) });
  const request = { url: "https://receiver.example/", headers, body };
  expect(await sender.send(request, AbortSignal.timeout(20_000))).toEqual({ error: "no DNS server can be reached" });
});

test("a process ends when its webhooks have ended: nothing stays open", async () => {
  const port = await listen(webServer((request) => request.url === "/hang" || request.socket.destroy()));
  const module = "./src/webhooks/send-webhook.ts";
  const program = `
    import { createWebhookSender } from "${module}";
    const { send } = createWebhookSender({ allowedHosts: ["127.0.0.1:${port}"] });
    const request = (url) => ({ url, headers: {}, body: "x" });
    const abort = new AbortController();
    const hanging = send(request("http://127.0.0.1:${port}/hang"), abort.signal);
    const closed = await send(request("http://127.0.0.1:${port}/close"), abort.signal);
    const refused = await send(request("https://10.0.0.1/"), abort.signal);
    abort.abort("the end");
    console.log(JSON.stringify([closed, refused, await hanging]));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
    timeout: 30_000,
  });
  expect(JSON.parse(stdout)).toEqual([
    { error: "the receiver closed the connection without a complete answer" },
    { error: "the URL is refused: expected a public address", refused: true },
    { error: "the end" },
  ]);
});
