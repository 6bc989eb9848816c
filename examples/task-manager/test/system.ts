import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "offload/client";
import { startLocalServer } from "offload/testing";
import { onTestFinished } from "vitest";
import { type Mail, startMailbox } from "../demo/mailbox.ts";
import { startService } from "../server.ts";
import type * as tasks from "../tasks/index.ts";
import { openUsers } from "../users/open.ts";
import { hashPassword } from "../users/password.ts";

export const password = "correct horse";
/** A cheap hash: the tests are not about its cost. */
const hash = await hashPassword(password, 1024);

/** A folder that the test's end deletes. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "task-manager-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface SystemOptions {
  /** `OFFLOAD_LIMITS`. */
  limits?: object;
  timeScale?: number;
  take?: (mail: Mail) => Promise<void> | void;
  /** Another mail server. */
  smtpUrl?: string;
}

/** Starts a mail server, Offload and the service, which end with the test. */
export async function startSystem({ limits = {}, timeScale = 1, take, smtpUrl }: SystemOptions = {}) {
  const folder = temporaryFolder();
  const mailbox = await startMailbox(0, take);
  onTestFinished(() => mailbox.close());
  const place = `sqlite:${join(folder, "users.sqlite")}`;
  const env = {
    USERS: place,
    SMTP_URL: smtpUrl ?? mailbox.url,
    OFFLOAD_LIMITS: JSON.stringify(limits),
    OFFLOAD_TIME_SCALE: `${timeScale}`,
  };
  const offload = await startLocalServer({ env });
  onTestFinished(() => offload.stop());
  const service = await startService({ ...offload.env, USERS: place, WEB_PORT: "0" });
  onTestFinished(() => service.close());
  const client = createClient<typeof tasks>({ url: offload.url, key: "dev-acme", maxTries: 1 });
  return { folder, mailbox, offload, service, client, users: openUsers(place), ...requestsTo(service.url) };
}

/** Adds a user who has signed in before, from another device than any test. */
export async function addUser(users: ReturnType<typeof openUsers>, email: string): Promise<void> {
  await users.add(email, hash);
  await users.noteLogin(email, { id: crypto.randomUUID(), at: "2026-01-01T08:00:00.000Z", device: "an earlier one" });
}

/** The requests of a browser. Each login without `cookies` comes from a new device. */
export function requestsTo(url: string) {
  const post = (path: string, email: string, cookies = "", secret = password) =>
    fetch(`${url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", cookie: cookies },
      body: JSON.stringify({ email, password: secret }),
    });
  return {
    signUp: (email: string) => post("/signup", email),
    login: (email: string, cookies?: string, secret?: string) => post("/login", email, cookies, secret),
    me: async (cookies: string) => (await fetch(`${url}/me`, { headers: { cookie: cookies } })).json(),
  };
}

export const cookiesOf = (response: Response): string =>
  response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(";")[0])
    .join("; ");

/** Something that others wait for. */
export function gate() {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  return { opened, open };
}

/** Calls an async function for each item, a few at the same time. */
export async function inParallel<Item>(
  items: Iterable<Item>,
  most: number,
  call: (item: Item) => Promise<unknown>,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  const lane = async () => {
    for (let next = rest.next(); next.done !== true; next = rest.next()) await call(next.value);
  };
  await Promise.all(Array.from({ length: most }, lane));
}
