import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { tableClient } from "../../src/aws/clients.ts";
import { DynamoTable } from "../../src/aws/dynamo-table.ts";
import { DynamoListeners } from "../../src/aws/listeners.ts";
import { systemClock } from "../../src/aws/process.ts";
import { createClient, TaskCancelled } from "../../src/client/index.ts";
import { pushNotice } from "../../src/core/notify/push-notice.ts";
import { localTable } from "../../src/settings/config.ts";
import { Client } from "../support/http-client.ts";
import { changeNotice, endNotice } from "../support/notices.ts";
import { principalOf, pushPorts, startHere } from "../support/own-process-server.ts";

let server: Awaited<ReturnType<typeof startHere>>;
beforeAll(async () => {
  server = await startHere();
}, 300_000);
afterAll(() => server.close());

const openUrl = async (json: object = {}, token = "dev-acme"): Promise<string> => {
  const client = new Client(server.url, { token, tenant: "acme", role: "operator" });
  const answer = await client.send("POST", "/channels", { body: json });
  expect(answer.status).toBe(201);
  return answer.json<{ url: string }>().url;
};

/** A client with the messages that it got. */
async function connected(json?: object, token?: string) {
  const socket = new WebSocket(await openUrl(json, token));
  const messages: unknown[] = [];
  socket.on("message", (data) => messages.push(JSON.parse(String(data))));
  await once(socket, "open");
  return { socket, messages };
}

/** Status of a refused upgrade. */
async function refusal(url: string, options = {}): Promise<number> {
  const socket = new WebSocket(url, options);
  socket.on("error", () => {});
  const [, response] = await once(socket, "unexpected-response");
  socket.terminate();
  return response.statusCode;
}

const eventually = async (holds: () => unknown) => {
  await expect.poll(async () => Boolean(await holds()), { interval: 20 }).toBe(true);
};
const hears = (principal: string) =>
  new DynamoListeners(new DynamoTable(tableClient(), localTable), systemClock).hears("acme", principal, true);
describe("a channel of the local server", () => {
  test("a ping is answered by a pong, and any other message by an error", async () => {
    const { socket, messages } = await connected();
    for (const text of ['{"type":"ping"}', "no json", '"x"', "null", "x".repeat(2_000)]) socket.send(text);
    await eventually(() => messages.length === 5);
    expect(messages).toContainEqual({ type: "pong" });
    expect(messages.filter((message) => (message as { type: string }).type === "error")).toHaveLength(4);
    socket.close();
  });

  test("messages about a task reach the channels of its principal and of the tenant, and no others", async () => {
    const own = await connected({}, "dev-acme-sub");
    const tenant = await connected({ scope: "tenant" });
    const other = await connected({}, "dev-acme");
    const foreign = await connected({ scope: "tenant" }, "dev-globex");
    const of = { tenant_id: "acme", requested_by: principalOf("dev-acme-sub") };
    expect(await pushNotice(pushPorts(), changeNotice(of))).toEqual({ sent: 2, gone: 0, dropped: 0 });
    expect(await pushNotice(pushPorts(), endNotice(of), { pages: 3 })).toMatchObject({ sent: 2 });
    await eventually(() => own.messages.length === 2 && tenant.messages.length === 2);
    expect(own.messages).toMatchObject([{ type: "task.progress" }, { type: "task.completed", result: { pages: 3 } }]);
    expect(tenant.messages).toEqual(own.messages);
    expect([other.messages, foreign.messages]).toEqual([[], []]);
    for (const { socket } of [own, tenant, other, foreign]) socket.close();
  });

  test("a ticket is for one connection", async () => {
    const url = await openUrl();
    const socket = new WebSocket(url);
    await once(socket, "open");
    expect(await refusal(url)).toBe(403);
    socket.close();
  });

  test("a connection without a valid ticket is refused", async () => {
    const url = await openUrl();
    expect(await refusal(url.replace(/\?.*/, ""))).toBe(401);
    expect(await refusal(`${url}x`)).toBe(403);
    expect(await refusal(`${url}${"x".repeat(4_000)}`)).toBe(403);
  });

  test("a page of any origin may connect with a ticket, but not with another host", async () => {
    const headers = { host: "evil.example" };
    expect(await refusal(await openUrl(), { headers })).toBe(403);
    const url = await openUrl();
    expect(await refusal(url.replace(/ticket=.*/, "ticket=none"), { origin: "http://evil.example" })).toBe(403);
    const socket = new WebSocket(url, { origin: "http://shop.example" });
    await once(socket, "open");
    socket.close();
  });

  test("the end of the last connection ends the cost of its channel", async () => {
    const { socket } = await connected({}, "dev-admin");
    const admin = principalOf("dev-admin");
    expect(await hears(admin)).toBe(true);
    socket.close();
    await eventually(async () => (await pushPorts().connections.hearing("acme", admin)).length === 0);
    expect(await hears(admin)).toBe(false);
  });
});

describe("the client and the local server", () => {
  const client = () => createClient({ url: server.url, key: "dev-acme-sub" });
  const of = () => ({ tenant_id: "acme", requested_by: principalOf("dev-acme-sub") });

  test("subscribe iterates over the messages of a channel", async () => {
    const types: string[] = [];
    for await (const { type } of client().subscribe()) {
      types.push(type);
      if (type === "channel.open") void pushNotice(pushPorts(), changeNotice(of()));
      else break;
    }
    expect(types).toEqual(["channel.open", "task.progress"]);
  });

  test("result hears of the end long before its next poll", async () => {
    const offload = client();
    const task = await offload.submit("probe.echo", { value: 1 }, { delaySeconds: 600 });
    const seen: string[] = [];
    const result = offload.result(task, { onProgress: ({ status }) => seen.push(status), pollMs: 60_000 });
    const { requested_by } = of();
    await eventually(async () => (await pushPorts().connections.hearing("acme", requested_by)).length > 0);
    await sleep(2_500);
    await offload.cancel(task);
    await pushNotice(pushPorts(), endNotice({ ...of(), task_id: task.task_id, task: { status: "cancelled" } }));
    await expect(result).rejects.toBeInstanceOf(TaskCancelled);
    expect(seen).toEqual(["scheduled", "cancelled"]);
  });
});

test("the connections of a revoked key are closed", async () => {
  const admin = new Client(server.url, { token: "dev-admin", tenant: "acme", role: "admin" });
  const made = await admin.send("POST", "/keys", { body: { role: "operator" } });
  const { key, key_id } = made.json<{ key: string; key_id: string }>();
  const { socket } = await connected({}, key);
  const other = await connected();
  const closed = once(socket, "close");
  expect((await admin.send("DELETE", `/keys/${key_id}`)).status).toBe(200);
  await closed;
  expect(other.socket.readyState).toBe(WebSocket.OPEN);
  other.socket.close();
});
