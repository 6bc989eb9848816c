import { createClient } from "offload/client";
import { startLocalServer, type TestServer } from "offload/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startMailbox } from "../demo/mailbox.ts";
import { send } from "../send.ts";
import type * as tasks from "../tasks/index.ts";
import { childrenOf, deployment, fileOf, folder, orderOf, removeFolder } from "./system.ts";

/** Number of orders of the test with kills. */
const orderCount = Number(process.env.ORDERS ?? 50);

type Mailbox = Awaited<ReturnType<typeof startMailbox>>;
let mailbox: Mailbox;
beforeAll(async () => {
  // The default of SMTP_URL, for a deployment.
  mailbox = await startMailbox(deployment === undefined ? 0 : 1025);
});
afterEach(() => void mailbox.mails.splice(0));
afterAll(async () => {
  await mailbox.close();
  removeFolder();
});

const start = (more: { stateFolder?: string; env?: Record<string, string> } = {}) =>
  startLocalServer({ ...more, env: { SMTP_URL: mailbox.url, OFFLOAD_TIME_SCALE: "0.01", ...more.env } });

const clientOf = (server: { url: string; key: string }) => createClient<typeof tasks>(server);
const connectionOf = ({ url, env }: TestServer) => ({ url, key: env.OFFLOAD_KEY ?? "" });

/** Waits until all tasks have completed. */
async function completed(server: { url: string; key: string }, ids: readonly string[]): Promise<void> {
  const client = clientOf(server);
  for (const id of ids) await client.result(id, { timeoutMs: 240_000 });
}

describe("invoices", { timeout: 300_000 }, () => {
  let server: TestServer | undefined;
  let connection = { url: "", key: "" };
  beforeAll(async () => {
    server = deployment === undefined ? await start() : undefined;
    connection = server === undefined ? (deployment ?? connection) : connectionOf(server);
  }, 120_000);
  afterAll(() => server?.stop());

  test("a file of orders leads to one mail each, with a PDF, also when it is sent twice", async () => {
    const run = crypto.randomUUID().slice(0, 8);
    const orders = ["a", "b", "c"].map((id) => orderOf(`${run}-${id}`));
    const path = fileOf(orders, "orders.ndjson");
    const first = await send(path, connection);
    expect(await send(path, connection)).toEqual(first);
    await completed(connection, first);
    expect(mailbox.mails.map(({ subject }) => subject).sort()).toEqual(orders.map(({ id }) => `Your invoice ${id}`));
    for (const { attachments } of mailbox.mails) {
      expect(attachments[0]?.content.subarray(0, 5).toString()).toBe("%PDF-");
    }
  });

  test("a second task for an order sends nothing", async () => {
    const order = orderOf(crypto.randomUUID().slice(0, 8));
    const client = clientOf(connection);
    await client.result(await client.submit("invoice.send", order), { timeoutMs: 120_000 });
    await client.result(await client.submit("invoice.send", order), { timeoutMs: 120_000 });
    expect(mailbox.mails).toHaveLength(1);
  });

  test("an order that does not fit is refused with the place of each fault", async () => {
    const path = fileOf([orderOf("x", { email: "nobody" }), orderOf("y")], "wrong.ndjson");
    await expect(send(path, connection)).rejects.toThrow("email");
    expect(mailbox.mails).toEqual([]);
  });
});

describe.skipIf(deployment !== undefined)("on a local server of its own", { timeout: 300_000 }, () => {
  test("addresses, names and amounts are in no log, and in no error", async () => {
    const marks = { email: "marker-mail@example.com", name: "Marker Name", cents: 987_654 };
    const refusing = await startMailbox(0, ({ to }) => ({
      code: 550,
      text: `no such mailbox: ${[to ?? []].flat()[0]?.text}`,
    }));
    const server = await start();
    const other = await start({ env: { SMTP_URL: refusing.url } });
    try {
      const order = (id: string) =>
        orderOf(id, {
          email: marks.email,
          name: marks.name,
          lines: [{ title: "Dune", quantity: 1, cents: marks.cents }],
        });
      await completed(connectionOf(server), await send(fileOf([order("1")], "one.ndjson"), connectionOf(server)));
      const refused = clientOf(connectionOf(other));
      const [id = ""] = await send(fileOf([order("2")], "two.ndjson"), connectionOf(other));
      await expect(refused.result(id, { timeoutMs: 120_000 })).rejects.toThrow("550");
      const seen = [server.output(), other.output(), JSON.stringify(await refused.attempts(id))].join("\n");
      expect(seen).toContain("invoice.send");
      for (const mark of [marks.email, "marker-mail", marks.name, "9876.54", "987654"])
        expect(seen).not.toContain(mark);
      // The search finds them where they belong.
      const [mail] = mailbox.mails;
      const sent = JSON.stringify([mail?.to, mail?.subject, mail?.text]);
      for (const mark of [marks.email, marks.name]) expect(sent).toContain(mark);
    } finally {
      await Promise.all([server.stop(), other.stop(), refusing.close()]);
    }
  });

  test(`${orderCount} orders while workers and the server are killed: each order is mailed, copies have its Message-ID`, async () => {
    const orders = Array.from({ length: orderCount }, (_, index) => orderOf(`k${index}`));
    const path = fileOf(orders, "many.ndjson");
    const stateFolder = `${folder}/state`;
    let server = await start({ stateFolder });
    const ids = await send(path, connectionOf(server));
    let kills = 0;
    for (const share of [0.2, 0.4, 0.6]) {
      await expect.poll(() => mailbox.mails.length, { timeout: 120_000 }).toBeGreaterThan(orderCount * share);
      const workers = childrenOf(server.pid);
      for (const worker of workers) process.kill(worker, "SIGKILL");
      kills += workers.length;
    }
    await expect.poll(() => mailbox.mails.length, { timeout: 180_000 }).toBeGreaterThan(orderCount * 0.7);
    await server.kill();
    server = await start({ stateFolder });
    try {
      await completed(connectionOf(server), ids);
    } finally {
      await server.stop();
    }
    const byId = Map.groupBy(mailbox.mails, ({ messageId }) => messageId);
    const copies = mailbox.mails.length - byId.size;
    console.log(
      `${orderCount} orders, ${kills} workers and 1 server killed: ${mailbox.mails.length} mails, ${copies} copies`,
    );
    expect([...byId.keys()].sort()).toEqual(orders.map(({ id }) => `<${id}.acme@invoices.example>`).sort());
    // A copy needs a worker that dies between the server's answer and the note of it.
    expect(copies).toBeLessThanOrEqual(10 * (kills + 4));
  });
});
