import { createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { startMailbox } from "../demo/mailbox.ts";
import { startService } from "../server.ts";
import { openUsers } from "../users/open.ts";
import { addUser, cookiesOf, requestsTo, startSystem, temporaryFolder } from "./system.ts";

const deployed = process.env.OFFLOAD_URL !== undefined;
const anyUser = () => `ada-${crypto.randomUUID()}@example.com`;
const patient = { timeout: 120_000, interval: 100 };

/** The system on this machine, or the deployment with a service and a mail server beside it. */
async function mainSystem() {
  if (!deployed) return startSystem();
  const mailbox = await startMailbox(1025);
  onTestFinished(() => mailbox.close());
  const service = await startService({ USERS: "dynamodb:task-manager-users-dev", ...process.env, WEB_PORT: "0" });
  onTestFinished(() => service.close());
  return { mailbox, ...requestsTo(service.url) };
}

test("a user signs up, gets a welcome, signs in, and hears of a new device", async () => {
  const { mailbox, signUp, login, me } = await mainSystem();
  const user = anyUser();
  const subjects = () => mailbox.mails.filter(({ to }) => to === user).map(({ subject }) => subject);
  const noted = async (response: Response) => {
    const { at } = (await response.json()) as { at: string };
    await expect.poll(() => me(cookiesOf(response)), patient).toEqual({ email: user, lastLogin: at });
  };

  expect((await login(user)).status).toBe(401);
  expect((await signUp(user)).status).toBe(201);
  expect((await signUp(user)).status).toBe(409);
  expect((await login(user, "", "a wrong password")).status).toBe(401);
  await expect.poll(subjects, patient).toEqual(["Welcome to the task manager"]);

  const first = await login(user);
  expect(first.status).toBe(200);
  const cookies = cookiesOf(first);
  await noted(first);
  await noted(await login(user, cookies)); // the same device
  await noted(await login(user)); // another one
  await expect.poll(subjects, patient).toEqual(["Welcome to the task manager", "Sign-in on a new device"]);
}, 300_000);

describe.skipIf(deployed)("with parts of the system down, which only a local one can be", () => {
  test("a login does not wait for a mail server that never answers", async () => {
    const connections: unknown[] = [];
    const silent = createServer((socket) => connections.push(socket.on("error", () => {})));
    await new Promise<void>((listening) => silent.listen(0, "127.0.0.1", listening));
    onTestFinished(() => void silent.close());
    const { port } = silent.address() as { port: number };
    const { client, users, login, me } = await startSystem({ smtpUrl: `smtp://127.0.0.1:${port}` });
    const user = anyUser();
    await addUser(users, user);

    const response = await login(user);

    expect(response.status).toBe(200);
    const { at } = (await response.json()) as { at: string };
    await expect.poll(() => me(cookiesOf(response)), patient).toEqual({ email: user, lastLogin: at });
    await expect.poll(() => connections.length, patient).toBeGreaterThan(0);
    const { items } = await client.list({ type: "mail.send" }).page();
    expect(items).toMatchObject([{ type: "mail.send", result: null }]);
    expect(["pending", "processing"]).toContain(items[0]?.status);
  }, 180_000);

  test("without Offload a login works, and is stored when the service stops; a sign-up answers 503", async () => {
    const place = `sqlite:${temporaryFolder()}/users.sqlite`;
    const users = openUsers(place);
    const user = anyUser();
    await addUser(users, user);
    const service = await startService({
      USERS: place,
      OFFLOAD_URL: "http://127.0.0.1:9",
      OFFLOAD_KEY: "any",
      WEB_PORT: "0",
    });
    const { login, signUp } = requestsTo(service.url);

    const refused = await signUp(anyUser());
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    const response = await login(user);
    expect(response.status).toBe(200);
    const { at } = (await response.json()) as { at: string };
    expect((await users.find(user))?.lastLogin).not.toBe(at);

    await service.close();
    expect((await users.find(user))?.lastLogin).toBe(at);
  }, 60_000);
});
