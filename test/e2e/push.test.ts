import { describe, expect, test } from "vitest";
import { type Client, expectProblem, expectStatus } from "../support/http-client.ts";
import { operator, stranger, submitter } from "./callers.ts";

/** What is waited for on an emulated account, where each message takes the start of a function. */
const timeout = 120_000;

/**
 * The address at which an emulated account serves the URL of a channel; it tells APIs apart by the path. OFFLOAD_E2E_SOCKETS is its base URL.
 */
function addressOf(url: string): string {
  const base = process.env.OFFLOAD_E2E_SOCKETS;
  if (base === undefined) return url;
  const { hostname, pathname, search } = new URL(url);
  return `${base}/_aws/execute-api/${hostname.split(".")[0]}${pathname}${search}`;
}

interface Message {
  type: string;
  task_id?: string;
  status?: string;
  progress?: number | null;
}

/** Opens a channel, and keeps its messages. */
async function channelOf(client: Client, body: object = {}) {
  const { url } = expectStatus(await client.post("/channels", body), 201).json() as { url: string };
  const socket = new WebSocket(addressOf(url));
  const messages: Message[] = [];
  socket.onmessage = ({ data }) => messages.push(JSON.parse(String(data)));
  await new Promise<void>((resolve, reject) => {
    socket.onopen = () => resolve();
    socket.onerror = () => reject(new Error("the connection was refused"));
  });
  const of = (taskId: string) => messages.filter(({ task_id }) => task_id === taskId);
  return { socket, messages, of, url };
}

describe("a channel", { timeout: timeout * 2 }, () => {
  test("hears the tasks of its principal, and no others; that of a tenant hears all of the tenant", async () => {
    const [own, tenant, foreign] = await Promise.all([
      channelOf(submitter),
      channelOf(operator, { scope: "tenant" }),
      channelOf(stranger, { scope: "tenant" }),
    ]);
    const mine = await submitter.submit("probe.sleep", { ms: 1500, steps: 3 });
    const others = await operator.submit("probe.echo", { value: 1 });
    const ended = (messages: Message[]) => messages.at(-1)?.type;
    await expect.poll(() => ended(own.of(mine.task_id)), { timeout }).toBe("task.completed");
    await expect.poll(() => ended(tenant.of(mine.task_id)), { timeout }).toBe("task.completed");
    await expect.poll(() => ended(tenant.of(others.task_id)), { timeout }).toBe("task.completed");
    // Only ends are certain: workers learn of a new channel within some seconds, and changes before that are not sent.
    const heard = async () => {
      const { task_id } = await submitter.submit("probe.sleep", { ms: 1500, steps: 3 });
      await expect.poll(() => ended(own.of(task_id)), { timeout }).toBe("task.completed");
      return own.of(task_id).map(({ type }) => type);
    };
    await expect.poll(heard, { timeout }).toEqual(expect.arrayContaining(["task.processing", "task.progress"]));
    expect(own.of(others.task_id)).toEqual([]);
    // Other tests of this run may have tasks of that tenant.
    for (const { task_id } of [mine, others]) expect(foreign.of(task_id)).toEqual([]);
    for (const { socket } of [own, tenant, foreign]) socket.close();
  });

  test("answers a ping, and its URL connects once", async () => {
    const { socket, messages, url } = await channelOf(operator);
    socket.send(JSON.stringify({ type: "ping" }));
    await expect.poll(() => messages.map(({ type }) => type), { timeout }).toContain("pong");
    const second = new WebSocket(addressOf(url));
    const outcome = await new Promise((resolve) => {
      second.onerror = () => resolve("refused");
      second.onclose = () => resolve("refused");
      second.onopen = () => setTimeout(resolve, 3_000, "open");
    });
    expect(outcome).toBe("refused");
    socket.close();
  });

  test("of a whole tenant is only for operators", async () => {
    expectProblem(await submitter.post("/channels", { scope: "tenant" }), 403, "forbidden");
    expectProblem(await operator.post("/channels", { scope: "all" }), 422, "invalid_input");
  });
});
