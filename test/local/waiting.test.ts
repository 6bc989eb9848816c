import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Answer, Client, expectStatus, type Task } from "../support/http-client.ts";
import { type OwnServer, startOwnServer } from "../support/local-server.ts";
import { openRaw } from "../support/raw-http.ts";

// A server of its own: its places for requests that wait would be missing in other tests.
let server: OwnServer;
let client: Client;

beforeAll(async () => {
  server = await startOwnServer({});
  client = new Client(server.url, { token: "dev-acme", tenant: "acme", role: "operator" });
}, 300_000);

afterAll(() => server.stop());

/** A task that starts long after the test. */
const delayed = async () => (await client.submit("probe.echo", { value: 1 }, { delay_seconds: 600 })).task_id;

/** Waits for a task. A busy machine may answer with 503: then the client asks again, as clients do. */
async function waiting(id: string): Promise<Answer> {
  const answer = await client.get(`/tasks/${id}`, { prefer: "wait=20" });
  return answer.status === 503 ? client.get(`/tasks/${id}`, { prefer: "wait=20" }) : answer;
}

describe("many requests that wait", () => {
  // `test/contract/waits.ts` has the places, and each tenant's half of them.
  test("100 waiting clients do not stop submits, and are answered, one whose task ends with its end", async () => {
    const ids: string[] = [];
    while (ids.length < 100) ids.push(...(await Promise.all(Array.from({ length: 25 }, delayed))));
    const answers = Promise.all(ids.map(waiting));
    const submits = Array.from({ length: 25 }, (_, value) => client.submit("probe.echo", { value }));
    const tasks = await Promise.all(submits.map(async (accepted) => client.ended((await accepted).task_id)));
    expect(tasks.map(({ status }) => status)).toEqual(Array(25).fill("completed"));
    const last = await delayed();
    const answer = waiting(last);
    expectStatus(await client.post(`/tasks/${last}/cancel`), 200);
    expect((await answer).json<Task>()).toMatchObject({ status: "cancelled" });
    expect((await answers).map(({ status }) => status)).toEqual(Array(100).fill(200));
  });

  test("a client that disconnects while it waits disturbs nothing, and its place is given back", async () => {
    const id = await delayed();
    const { host } = new URL(server.url);
    const head = `GET /tasks/${id}?wait=2 HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer dev-acme\r\n\r\n`;
    const sockets = Array.from({ length: 5 }, () => openRaw(server.url, head));
    await sleep(500);
    for (const { socket } of sockets) socket.destroy();
    await sleep(2_500);
    expect(server.output()).not.toMatch(/function failed|"level":"ERROR"/);
    expect(expectStatus(await client.get(`/tasks/${id}?wait=1`), 200).json()).toMatchObject({ status: "scheduled" });
  });

  test("the server stops while clients wait", async () => {
    const waiting = client.send("GET", `/tasks/${await delayed()}?wait=20`).then(
      () => "answered",
      () => "closed",
    );
    await sleep(1_000);
    await server.stop();
    // A stop that lasted as long as the wait would have let it be answered.
    expect(await waiting).toBe("closed");
  });
});
