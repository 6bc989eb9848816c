import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiGatewayManagementApiClient, DeleteConnectionCommand } from "@aws-sdk/client-apigatewaymanagementapi";
import { afterEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { ApiGatewaySocket } from "../../src/aws/socket.ts";
import { startGateway } from "../../src/local/gateway/gateway.ts";
import { startWebSockets } from "../../src/local/gateway/web-sockets.ts";
import type { HttpHandler } from "../../src/local/lambda/invocation.ts";
import { onlyOnce } from "../../src/local/net/endpoint.ts";

interface Event {
  body?: string;
  headers?: Record<string, string>;
  queryStringParameters?: Record<string, string> | null;
  requestContext: { routeKey: string; eventType: string; connectionId: string; disconnectStatusCode?: number };
}

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

type Limits = Parameters<typeof startWebSockets>[0]["limits"];

/** A gateway with a WebSocket API, whose function a test gives. */
async function started(answer: (event: Event) => unknown = () => ({ statusCode: 200 }), limits: Limits = {}) {
  const events: Event[] = [];
  const lines: string[] = [];
  const bodies: string[] = [];
  const handler = (async (event: Event) => {
    events.push(event);
    return answer(event);
  }) as unknown as HttpHandler;
  const sockets = await startWebSockets({ handler, limits, onEvent: (line) => lines.push(line) });
  const gateway = await startGateway({
    port: 0,
    handlers: {
      status: async ({ body = "" }: { body?: string }) => {
        bodies.push(body);
        return { statusCode: 200, body: "polled" };
      },
    },
    authorizer: async () => ({ isAuthorized: true, context: { tenant_id: "acme", principal: "olga" } }),
    onRequest: () => {},
    webSockets: { path: "/_channel", upgrade: sockets.upgrade },
  });
  const close = onlyOnce(async () => {
    await sockets.close();
    await gateway.close();
  });
  cleanups.push(close);
  const url = `${gateway.url.replace("http", "ws")}/_channel`;
  const eventTypes = () => events.map(({ requestContext }) => requestContext.eventType);
  return { sockets, gateway, events, bodies, eventTypes, lines, url, close, socket: new ApiGatewaySocket(sockets.url) };
}

Object.assign(process.env, { AWS_REGION: "us-east-1", AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" });

async function opened(url: string, options = {}) {
  const client = new WebSocket(url, options);
  const messages: string[] = [];
  client.on("message", (data) => messages.push(String(data)));
  await once(client, "open");
  return Object.assign(client, { messages });
}

const closeCode = async (client: WebSocket): Promise<number> => (await once(client, "close"))[0];

describe("the WebSocket API of the local server", () => {
  test("the function gets the events of API Gateway, and its answers go to the client", async () => {
    const { url, events, sockets } = await started(({ body }) => ({ statusCode: 200, body: body && `echo ${body}` }));
    const client = await opened(`${url}?ticket=a%20b`, { headers: { "user-agent": "tests" } });
    client.send("hello");
    await once(client, "message");
    expect(client.messages).toEqual(["echo hello"]);
    client.close(3001);
    await once(client, "close");
    while (sockets.open().length > 0 || events.length < 3) await sleep(5);
    expect(events).toMatchObject([
      { requestContext: { routeKey: "$connect", eventType: "CONNECT" }, queryStringParameters: { ticket: "a b" } },
      { requestContext: { routeKey: "$default", eventType: "MESSAGE" }, body: "hello" },
      { requestContext: { routeKey: "$disconnect", eventType: "DISCONNECT", disconnectStatusCode: 3001 } },
    ]);
    expect(events[0]?.headers?.["user-agent"]).toBe("tests");
    expect(new Set(events.map(({ requestContext }) => requestContext.connectionId)).size).toBe(1);
  });

  test.each([401, 403, 429, 500])("a function that answers %d refuses the connection", async (statusCode) => {
    const { url, sockets } = await started(() => ({ statusCode }));
    const client = new WebSocket(url);
    client.on("error", () => {});
    const [, response] = await once(client, "unexpected-response");
    expect([response.statusCode, sockets.open()]).toEqual([statusCode, []]);
    client.terminate();
  });

  test("a function that fails refuses the connection, and the log says why", async () => {
    const { url, lines } = await started(() => Promise.reject(new Error("a bug")));
    const client = new WebSocket(url);
    expect(String((await once(client, "error"))[0])).toContain("500");
    expect(lines.join()).toContain("a bug");
  });

  test("another host than this machine is refused without a call of the function", async () => {
    const { url, events } = await started();
    const client = new WebSocket(url, { headers: { host: "evil.example" } });
    expect(String((await once(client, "error"))[0])).toContain("403");
    expect(events).toEqual([]);
  });

  test("other paths, and requests that offer another protocol, are answered as requests", async () => {
    const { url, gateway, events, bodies } = await started();
    const client = new WebSocket(url.replace("_channel", "tasks"));
    client.on("error", () => {});
    const [, response] = await once(client, "unexpected-response");
    expect(response.statusCode).toBe(200);
    client.terminate();
    const offer =
      "host: localhost\r\nconnection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n";
    const raw = connect(gateway.port, "127.0.0.1");
    let text = "";
    raw.on("data", (chunk) => {
      text += String(chunk);
    });
    const answers = async (count: number) => {
      while ((text.match(/HTTP\/1\.1 200 OK/g)?.length ?? 0) < count) await sleep(5);
    };
    raw.write(`POST /tasks/x HTTP/1.1\r\n${offer}content-length: 9\r\n\r\n{"a":`);
    await sleep(50);
    raw.write('"b"}');
    await answers(1);
    raw.write(`GET /tasks HTTP/1.1\r\n${offer}\r\n`);
    await answers(2);
    raw.write("GET /last HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    await answers(3);
    expect(bodies).toEqual(["", '{"a":"b"}', "", ""]);
    expect(events).toEqual([]);
  });

  test("a connection without messages, or at the end of its longest life, is closed", async () => {
    const idle = await started(undefined, { idleMs: 50 });
    expect(await closeCode(await opened(idle.url))).toBe(1001);
    const old = await started(undefined, { lifeMs: 50 });
    expect(await closeCode(await opened(old.url))).toBe(1001);
  });

  test("messages keep a connection open", async () => {
    const { url } = await started(undefined, { idleMs: 2_000 });
    const client = await opened(url);
    for (let n = 0; n < 6; n++) {
      client.send("ping");
      await sleep(400);
    }
    expect(client.readyState).toBe(WebSocket.OPEN);
  });

  test("a message of a client that is too large ends its connection", async () => {
    const { url, eventTypes } = await started();
    const client = await opened(url);
    client.send("x".repeat(32 * 1024 + 1));
    expect(await closeCode(client)).toBe(1009);
    expect(eventTypes()).not.toContain("MESSAGE");
  });

  test("a stopping server ends all connections, also those of clients that do not answer", async () => {
    const { url, close, eventTypes } = await started();
    const clients = await Promise.all([opened(url), opened(url)]);
    const codes = Promise.all(clients.map(closeCode));
    const silent = connect(Number(new URL(url).port), "127.0.0.1");
    silent.write(
      "GET /_channel HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n" +
        "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    await once(silent, "data");
    await close();
    expect(await codes).toEqual([1001, 1001]);
    expect(eventTypes().filter((type) => type === "DISCONNECT")).toHaveLength(3);
  });
});

describe("the management API", () => {
  test("a message reaches the client", async () => {
    const { url, socket, sockets } = await started();
    const client = await opened(url);
    const text = JSON.stringify({ text: "ü 🦤".repeat(1_000) });
    const received = once(client, "message");
    expect(await socket.post(sockets.open()[0] ?? "", text)).toBe("sent");
    await received;
    expect(client.messages).toEqual([text]);
  });

  test("a connection that does not exist is gone", async () => {
    const { socket } = await started();
    expect(await socket.post("none=", "{}")).toBe("gone");
  });

  test("a message that is too large is an error", async () => {
    const { url, socket, sockets } = await started();
    await opened(url);
    const post = socket.post(sockets.open()[0] ?? "", "x".repeat(128 * 1024 + 1));
    await expect(post).rejects.toMatchObject({ name: "PayloadTooLargeException" });
  });

  test("a client that does not read is busy", async () => {
    const { url, socket, sockets } = await started(undefined, { waitingBytes: -1 });
    await opened(url);
    expect(await socket.post(sockets.open()[0] ?? "", "{}")).toBe("busy");
  });

  test("a management API that cannot be reached is unavailable", async () => {
    const post = new ApiGatewaySocket("http://127.0.0.1:9").post("c", "{}");
    await expect(post).rejects.toMatchObject({ name: "PortUnavailable" });
  });

  test("a connection can be closed", async () => {
    const { url, sockets } = await started();
    const client = await opened(url);
    const [ConnectionId] = sockets.open();
    const management = new ApiGatewayManagementApiClient({ endpoint: sockets.url });
    const code = closeCode(client);
    await management.send(new DeleteConnectionCommand({ ConnectionId }));
    expect(await code).toBe(1000);
  });
});
