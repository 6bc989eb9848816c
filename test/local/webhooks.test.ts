import { createServer } from "node:http";
import { expect, test } from "vitest";
import { Client } from "../support/http-client.ts";
import { startOwnServer } from "../support/local-server.ts";
import { Receiver } from "../support/receiver.ts";
import { submitAll } from "../support/submit-all.ts";

const acme = { token: "dev-acme", tenant: "acme", role: "operator" };
const globex = { token: "dev-globex", tenant: "globex", role: "operator" };

/** Tasks whose receiver hangs. Each try takes ten seconds, and twenty go on at a time: the first tries alone take a minute and a half. */
const hanging = 200;

/** Starts a server whose webhooks may reach these receivers. */
async function serverFor(receivers: readonly Receiver[]) {
  const hosts = receivers.map(({ host }) => host).join();
  // Usual waits: a hanging receiver is tried again after seconds.
  return startOwnServer({ OFFLOAD_CALLBACK_HOSTS: hosts, OFFLOAD_TIME_SCALE: "1" });
}

test("200 tasks to a receiver that hangs delay no other tenant's webhook and no task", async ({ onTestFinished }) => {
  const slow = await Receiver.start(0);
  const quick = await Receiver.start(0);
  const server = await serverFor([slow, quick]);
  onTestFinished(async () => {
    await server.stop();
    await Promise.all([slow.close(), quick.close()]);
  });
  const [client, other] = [new Client(server.url, acme), new Client(server.url, globex)];
  const stuck = slow.url(() => "hang");
  const callback = { url: stuck };
  const tasks = Array.from({ length: hanging }, () => ({ type: "probe.echo", input: { value: 1 }, callback }));
  await submitAll(client, tasks);
  // The first ones hang now; most still wait for their try.
  await slow.got(stuck, 20, 300_000);
  for (let count = 0; count < 3; count++) {
    const url = quick.url(() => 200);
    await other.submit("probe.echo", { value: 2 }, { callback: { url } });
    await quick.got(url, 1, 300_000);
    // In one queue it would come after all of them.
    const tried = new Set(slow.at(stuck).map(({ json }) => (json.data as { task_id: string }).task_id));
    if (count === 0) expect(tried.size).toBeLessThan(hanging);
  }
  const done = async () => (await client.list("status=completed&limit=100")).length;
  await expect.poll(done, { timeout: 300_000, interval: 2_000 }).toBe(hanging);
});

test("a page that a webhook could reach on this machine is not reached unless it is allowed", async ({
  onTestFinished,
}) => {
  let reached = 0;
  const secret = createServer((_, response) => {
    reached += 1;
    response.end();
  });
  // A port that a callback may name.
  const port = 8443;
  await new Promise<void>((resolve) => secret.listen(port, "127.0.0.1", resolve));
  const server = await startOwnServer({});
  onTestFinished(async () => {
    await server.stop();
    secret.close();
  });
  const client = new Client(server.url, acme);
  // A name of the machine passes the check of the text: only its address shows where it leads.
  const url = `https://this-machine.example.com:${port}/`;
  const { task_id } = await client.submit("probe.echo", { value: 1 }, { callback: { url } });
  await expect
    .poll(async () => (await client.get(`/tasks/${task_id}/deliveries`)).json(), { timeout: 300_000, interval: 500 })
    .toMatchObject({ deliveries: [{ status: null, error: expect.any(String) }] });
  expect(reached).toBe(0);
});
