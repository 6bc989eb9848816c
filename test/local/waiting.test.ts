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

/** Starts that many requests that wait for tasks of their own, in waves, as the emulated table takes each place one after another. */
async function waitingRequests(count: number) {
  const ids: string[] = [];
  const answers: Promise<Answer>[] = [];
  const open = new Set<string>();
  while (ids.length < count) ids.push(...(await Promise.all(Array.from({ length: 25 }, delayed))));
  for (const [index, id] of ids.entries()) {
    open.add(id);
    answers.push(waiting(id).finally(() => open.delete(id)));
    if (index % 25 === 24) await sleep(120);
  }
  return { ids, answers: Promise.all(answers), open };
}

describe("many requests that wait", { timeout: 300_000 }, () => {
  test("500 waiting clients do not stop submits, and are answered when their tasks end", async () => {
    const { ids, answers, open } = await waitingRequests(500);
    const submits = Array.from({ length: 50 }, (_, value) => client.submit("probe.echo", { value }));
    const tasks = await Promise.all(submits.map(async (accepted) => client.ended((await accepted).task_id)));
    expect(tasks.map(({ status }) => status)).toEqual(Array(50).fill("completed"));
    // They are still waiting, apart from those whose places came too late on a busy machine.
    expect(open.size).toBeGreaterThan(100);
    const [last = ""] = [...open].slice(-1);
    expectStatus(await client.post(`/tasks/${last}/cancel`), 200);
    const all = await answers;
    expect(all.map(({ status }) => status)).toEqual(Array(500).fill(200));
    expect(all[ids.indexOf(last)]?.json<Task>()).toMatchObject({ status: "cancelled" });
    expect(all.filter(({ headers }) => headers.get("preference-applied") === "wait=20").length).toBeGreaterThan(100);
  });

  test("a client beyond a tenant's half of the places is answered immediately, and places are given back", async () => {
    const beganMs = Date.now();
    const { answers } = await waitingRequests(525);
    const waitedTogether = Date.now() - beganMs < 6_000;
    const all = await answers;
    const refused = all.filter(({ headers }) => !headers.has("preference-applied"));
    // On a busy machine, the first ones have their answers before the last ones ask.
    if (waitedTogether) expect(refused.length).toBeGreaterThanOrEqual(25);
    expect(refused.length).toBeLessThan(525);
    // The emulated table of a busy machine may answer too late.
    const answered = refused.filter(({ status }) => status !== 503);
    expect(answered.every(({ headers }) => headers.get("retry-after") === "1")).toBe(true);
    const again = await client.get(`/tasks/${await delayed()}`, { prefer: "wait=1" });
    expect(again.headers.get("preference-applied")).toBe("wait=1");
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
    const own = await startOwnServer({});
    const other = new Client(own.url, { token: "dev-acme", tenant: "acme", role: "operator" });
    const { task_id } = await other.submit("probe.echo", { value: 1 }, { delay_seconds: 3_600 });
    const waiting = other.get(`/tasks/${task_id}?wait=20`).then(
      () => "answered",
      () => "closed",
    );
    await sleep(1_000);
    await own.stop();
    // A stop that lasted as long as the wait would have let it be answered.
    expect(await waiting).toBe("closed");
  });
});
