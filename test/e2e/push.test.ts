import { setTimeout as sleep } from "node:timers/promises";
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
    const mine: string[] = [];
    const others: string[] = [];
    const heard = (messages: Message[]) => messages.map(({ type }) => type);
    // Push is a hint: workers learn of a new channel within some seconds, messages can come in any order, and one that a busy account did not take in time is
    // dropped. So tasks are submitted until the channels have heard all of one.
    const hearsAll = async (
      channels: readonly { of(taskId: string): Message[] }[],
      ids: string[],
      types: string[],
      submit: () => Promise<{ task_id: string }>,
    ) => {
      await expect
        .poll(
          async () => {
            const { task_id } = await submit();
            ids.push(task_id);
            for (
              let tries = 0;
              tries < 20 && !channels.every((one) => heard(one.of(task_id)).includes("task.completed"));
              tries++
            )
              await sleep(500);
            return channels.map((one) => types.filter((type) => heard(one.of(task_id)).includes(type)));
          },
          { timeout },
        )
        .toEqual(channels.map(() => types));
    };
    await hearsAll([own, tenant], mine, ["task.processing", "task.progress", "task.completed"], () =>
      submitter.submit("probe.sleep", { ms: 1500, steps: 3 }),
    );
    await hearsAll([tenant], others, ["task.completed"], () => operator.submit("probe.echo", { value: 1 }));
    for (const id of others) expect(own.of(id)).toEqual([]);
    // Other tests of this run may have tasks of that tenant.
    for (const id of [...mine, ...others]) expect(foreign.of(id)).toEqual([]);
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
