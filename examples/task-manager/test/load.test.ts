import { spawn } from "node:child_process";
import { once } from "node:events";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, createClient } from "offload/client";
import { startLocalServer } from "offload/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Mail, startMailbox } from "../demo/mailbox.ts";
import { openUsers } from "../users/open.ts";
import { addUser, cookiesOf, gate, inParallel, requestsTo, startSystem, temporaryFolder } from "./system.ts";

const patient = { timeout: 900_000, interval: 500 };
const different = (mails: readonly Mail[]) => new Set(mails.map(({ messageId }) => messageId)).size;
/** Number of logins of the test with many, a multiple of 100. */
const loginCount = Number(process.env.LOGINS ?? 500);

const emails = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name}${i}@example.com`);
const welcomeTo = (to: string) => ({ to, subject: "Welcome", text: "Welcome" });

/** Ids of the tasks that have not completed. */
async function notCompleted(client: Pick<Client, "list">): Promise<string[]> {
  const ids: string[] = [];
  for await (const { task_id, status } of client.list()) if (status !== "completed") ids.push(task_id);
  return ids;
}

/** Time to wait before a repeat, as a refused request names it. */
function retryAfterOf(response: Response): number {
  expect(response.status).toBe(503);
  const seconds = Number(response.headers.get("retry-after"));
  expect(seconds).toBeGreaterThanOrEqual(1);
  expect(seconds).toBeLessThanOrEqual(60);
  return seconds * 1000;
}

describe.skipIf(process.env.OFFLOAD_URL !== undefined)("under load, with limits and stops of a local server", () => {
  test(`${loginCount} logins are noted exactly once, with the last time, and lead to one mail each`, async () => {
    const { mailbox, client, users, login, folder } = await startSystem();
    const people = emails("user", 100);
    for (const email of people) await addUser(users, email);
    const last = new Map<string, string>();

    await inParallel(
      [...Array(loginCount / 100)].flatMap(() => people),
      25,
      async (email) => {
        const response = await login(email);
        expect(response.status).toBe(200);
        const { at } = (await response.json()) as { at: string };
        if (at > (last.get(email) ?? "")) last.set(email, at);
      },
    );

    await expect.poll(() => mailbox.mails.length, patient).toBe(loginCount);
    await expect.poll(() => notCompleted(client), patient).toEqual([]);
    expect(different(mailbox.mails)).toBe(loginCount);
    expect(mailbox.mails).toHaveLength(loginCount);
    for (const email of people) expect((await users.find(email))?.lastLogin).toBe(last.get(email));
    const db = new DatabaseSync(`${folder}/users.sqlite`);
    expect(db.prepare("SELECT count(*) AS count FROM logins").get()?.count).toBe(100 + loginCount);
    db.close();
  }, 1_200_000);

  test("a full queue answers 503 to a sign-up, which is accepted after Retry-After; logins work all the time", async () => {
    const server = gate();
    const limits = { depth: { normal: 20, high: 1 } };
    const { mailbox, client, users, signUp, login, me } = await startSystem({ limits, take: () => server.opened });
    await addUser(users, "ada@example.com");
    const accepted: string[] = [];
    let refused: Response | undefined;
    let next = "";
    // The mail server takes no mail yet. Attempts that it holds count, too.
    while (refused === undefined) {
      next = `new${accepted.length}@example.com`;
      const response = await signUp(next);
      if (response.status === 201) accepted.push(next);
      else refused = response;
    }
    const wait = retryAfterOf(refused);
    expect(accepted).toHaveLength(20);
    expect((await login(next)).status).toBe(401); // nothing is stored

    // Another mail fills the queue of the notes. The login is answered, and its note waits in the service.
    await client.submit("mail.send", welcomeTo("other@example.com"), { priority: "high" });
    const loggedIn = await login("ada@example.com");
    expect(loggedIn.status).toBe(200);
    const { at } = (await loggedIn.json()) as { at: string };
    const { items } = await client.list({ type: "user.note_login" }).page();
    expect(items).toEqual([]);

    server.open();
    await sleep(wait);
    expect((await signUp(next)).status).toBe(201);
    const everyone = [...accepted, next, "other@example.com", "ada@example.com"].sort();
    await expect.poll(() => mailbox.mails.map(({ to }) => to).sort(), patient).toEqual(everyone);
    expect(await me(cookiesOf(loggedIn))).toEqual({ email: "ada@example.com", lastLogin: at });
  }, 300_000);

  test("with all workers busy with retries and a full queue, both new and failing mails make progress", async () => {
    const broken = emails("broken", 200);
    const tries = new Map<string, number>();
    let isBroken = true;
    let held = 0;
    const { mailbox, client, offload, signUp } = await startSystem({
      timeScale: 0.01, // waits of 1, 1.5, 6, 22 and 90 s in place of 30 s to 2 h
      limits: { depth: { normal: 300 } },
      take: async ({ to }) => {
        if (!to.startsWith("broken") || !isBroken) return;
        tries.set(to, (tries.get(to) ?? 0) + 1);
        held += 1;
        await sleep(3_000); // a mail server that keeps its senders waiting before it fails
        held -= 1;
        throw Object.assign(new Error("try again later"), { responseCode: 451 });
      },
    });
    const admin = createClient({ url: offload.url, key: "dev-admin" });
    const retries = () => [...tries.values()].reduce((sum, count) => sum + count - 1, 0);
    const submitAll = async (names: readonly string[]) => {
      const outcomes = client.submitMany("mail.send", names.map(welcomeTo));
      let accepted = 0;
      for await (const { error } of outcomes) accepted += error === undefined ? 1 : 0;
      return accepted;
    };

    expect(await submitAll(broken)).toBe(200);
    await expect.poll(() => tries.size, patient).toBe(200); // from now on each of their attempts is a retry
    // Eight workers have ten places each: so each worker holds retries, and most of them nothing else.
    await expect.poll(() => held, { ...patient, interval: 50 }).toBeGreaterThan(70);
    const busy = held;
    let good = 0;
    let refused: Response | undefined;
    for (let round = 0; refused === undefined; round++) {
      good += await submitAll(emails(`good${round}-`, 25));
      const response = await signUp(`early${round}@example.com`);
      if (response.status === 201) good += 1;
      else refused = response;
    }
    const full = { held, retries: retries(), good: mailbox.mails.length, queue: (await admin.queues()).normal };
    let wait = retryAfterOf(refused);
    for (let response = refused; response.status !== 201; ) {
      await sleep(wait);
      response = await signUp("new@example.com");
      if (response.status !== 201) wait = retryAfterOf(response);
    }
    const open = { held, retries: retries(), good: mailbox.mails.length };
    await expect.poll(() => mailbox.mails.length, patient).toBe(good + 1);
    await expect.poll(retries, patient).toBeGreaterThan(open.retries);
    const done = { retries: retries(), good: mailbox.mails.length };
    console.log("retries and new mails:", { busy, full, open, done });
    expect(full.queue.visible).toBeGreaterThan(0); // new mails and retries wait for a worker
    expect(open.retries).toBeGreaterThan(full.retries);
    expect(mailbox.mails.filter(({ to }) => to.startsWith("broken"))).toEqual([]);

    isBroken = false;
    await expect.poll(() => mailbox.mails.length, patient).toBe(good + 1 + 200);
    expect(different(mailbox.mails)).toBe(good + 1 + 200);
  }, 1_200_000);

  test("a stop during work loses no login and no mail, and a start on the same state ends them all", async () => {
    const folder = temporaryFolder();
    const stopping = gate();
    let taken = 0;
    // 30 mails pass. The others are held until the stop begins: they are running attempts, and tasks that wait behind them.
    const mailbox = await startMailbox(0, async () => {
      taken += 1;
      if (taken > 30) await stopping.opened;
    });
    onTestFinished(() => mailbox.close());
    const env = { USERS: `sqlite:${folder}/users.sqlite`, SMTP_URL: mailbox.url, OFFLOAD_TIME_SCALE: "0.01" };
    const start = () => startLocalServer({ stateFolder: `${folder}/state`, env });
    const offload = await start();
    onTestFinished(() => offload.stop());
    const users = openUsers(env.USERS);
    for (const email of emails("user", 20)) await addUser(users, email);
    const service = spawn(process.execPath, ["server.ts"], {
      env: { ...process.env, ...offload.env, ...env, WEB_PORT: "0" },
    });
    const [line] = (await once(service.stdout, "data")) as [Buffer];
    const { login } = requestsTo(/http:\S+/.exec(`${line}`)?.[0] ?? "");

    const answered: string[] = [];
    const logins = inParallel(
      [...Array(20)].flatMap(() => emails("user", 20)),
      10,
      async (email) => {
        const response = await login(email).catch(() => undefined);
        if (response?.status !== 200) return; // a login that is not answered
        const { at } = (await response.json()) as { at: string };
        answered.push(`${email} ${at}`);
      },
    );
    await expect.poll(() => answered.length, patient).toBeGreaterThan(150);
    await expect.poll(() => taken, patient).toBeGreaterThan(30);
    service.kill("SIGTERM");
    const [code] = (await once(service, "exit")) as [number | null];
    await logins;
    const stopped = offload.stop();
    stopping.open();
    await stopped;
    const before = mailbox.mails.length;

    const again = await start();
    onTestFinished(() => again.stop());
    const client = createClient({ url: again.url, key: "dev-acme" });
    await expect.poll(() => notCompleted(client), patient).toEqual([]);
    const ofLogin = ({ to, text }: Mail) => `${to} ${/at (\S+Z)\./.exec(text)?.[1]}`;
    expect(code).toBe(0);
    expect(before).toBeLessThan(answered.length); // there was work left
    expect(new Set(mailbox.mails.map(ofLogin))).toEqual(new Set([...mailbox.mails.map(ofLogin), ...answered]));
    let repeats = 0;
    for await (const { attempts } of client.list({ type: "mail.send" })) repeats += attempts - 1;
    const copies = mailbox.mails.length - different(mailbox.mails);
    console.log("stop:", { answered: answered.length, before, mails: mailbox.mails.length, repeats, copies });
    expect(copies).toBeLessThanOrEqual(repeats); // only attempts that the stop cut off can send a second copy
    for (const email of emails("user", 20)) {
      const times = answered.filter((one) => one.startsWith(`${email} `)).map((one) => one.split(" ")[1]);
      const latest = times.sort().at(-1) ?? "";
      expect((await users.find(email))?.lastLogin?.localeCompare(latest)).toBeGreaterThanOrEqual(0);
    }
  }, 1_200_000);
});
