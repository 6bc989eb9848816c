import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { serve } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { getCookie, getSignedCookie, setCookie, setSignedCookie } from "hono/cookie";
import { HTTPException } from "hono/http-exception";
import { type Client, ConnectionError, createClient, ProblemError } from "offload/client";
import * as z from "zod";
import { createLoginNotes, type LoginNotes } from "./login-notes.ts";
import type * as tasks from "./tasks/index.ts";
import { openUsers } from "./users/open.ts";
import { hashPassword, isPassword } from "./users/password.ts";
import type { Users } from "./users/users.ts";

const credentials = z.strictObject({
  email: z.email().max(200).toLowerCase(),
  password: z.string().min(8).max(200),
});

async function credentialsOf(c: Context) {
  const parsed = credentials.safeParse(await c.req.json().catch(() => undefined));
  if (!parsed.success) throw new HTTPException(422, { message: z.prettifyError(parsed.error) });
  return parsed.data;
}

const welcome = (email: string) => ({
  to: email,
  subject: "Welcome to the task manager",
  text: "Your account is ready. Sign in, and write down your first task.",
});

const cookie = { httpOnly: true, secure: true, sameSite: "Strict", maxAge: 365 * 86_400 } as const;

const page = (name: string) => readFileSync(new URL(`page/${name}`, import.meta.url), "utf8");

interface Parts {
  users: Users;
  offload: Client<typeof tasks>;
  notes: LoginNotes;
  /** Signs the session cookies. */
  secret: string;
}

function createApp({ users, offload, notes, secret }: Parts): Hono {
  const app = new Hono();

  app.post("/signup", async (c) => {
    const { email, password } = await credentialsOf(c);
    const taken = () => c.json({ error: "this address has an account" }, 409);
    if ((await users.find(email)) !== undefined) return taken();
    // The mail comes first: when it is refused, nothing is stored. The key allows one welcome for each address.
    await offload.submit("mail.send", welcome(email), { idempotencyKey: `welcome-${email}` });
    return (await users.add(email, await hashPassword(password))) ? c.json({ email }, 201) : taken();
  });

  app.post("/login", async (c) => {
    const { email, password } = await credentialsOf(c);
    const user = await users.find(email);
    if (!(await isPassword(password, user?.password))) return c.json({ error: "wrong address or password" }, 401);
    const device = getCookie(c, "device") ?? randomUUID();
    const at = new Date().toISOString();
    await notes.add({ id: randomUUID(), email, device, at });
    setCookie(c, "device", device, cookie);
    await setSignedCookie(c, "session", email, secret, cookie);
    return c.json({ email, at, lastLogin: user?.lastLogin ?? null });
  });

  app.get("/me", async (c) => {
    const email = await getSignedCookie(c, secret, "session");
    const user = email ? await users.find(email) : undefined;
    if (user === undefined) return c.json({ error: "sign in first" }, 401);
    return c.json({ email: user.email, lastLogin: user.lastLogin ?? null });
  });

  app.get("/", (c) => c.html(page("index.html")));
  app.get("/page.js", (c) => c.body(page("page.js"), 200, { "content-type": "text/javascript; charset=utf-8" }));

  app.onError(answerError);
  return app;
}

/** Passes 503 and `Retry-After` of Offload on to the user of this service. */
function answerError(error: Error, c: Context) {
  if (error instanceof HTTPException) return c.json({ error: error.message }, error.status);
  const busy = error instanceof ProblemError && (error.status === 429 || error.status === 503);
  if (!busy && !(error instanceof ConnectionError)) {
    console.error(error);
    return c.json({ error: "something went wrong here" }, 500);
  }
  const seconds = (busy && error.retryAfterSeconds) || 5;
  return c.json({ error: `we are busy: try again in ${seconds} seconds` }, 503, { "retry-after": `${seconds}` });
}

/** Starts the login service with the settings of its environment. Resolves when it listens. */
export async function startService(env: NodeJS.ProcessEnv = process.env) {
  const connection = { url: env.OFFLOAD_URL ?? "http://127.0.0.1:3000", key: env.OFFLOAD_KEY ?? "" };
  const users = openUsers(env.USERS);
  const notes = createLoginNotes(connection, users);
  const app = createApp({
    users,
    // A sign-up tries once, so that its user sees at once that the queue is full.
    offload: createClient<typeof tasks>({ ...connection, maxTries: 1 }),
    notes,
    secret: env.SESSION_SECRET ?? randomBytes(32).toString("hex"),
  });
  return new Promise<{ url: string; close(): Promise<void> }>((listening) => {
    const hostname = "127.0.0.1";
    const server = serve({ fetch: app.fetch, port: Number(env.WEB_PORT ?? 4000), hostname }, ({ port }) => {
      // Answers its requests, then hands over its notes. `offload dev` gives a program about four seconds for this.
      const close = async () => {
        await Promise.race([new Promise((closed) => server.close(closed)), sleep(1_000)]);
        await notes.drain(2_000);
      };
      listening({ url: `http://${hostname}:${port}`, close });
    });
  });
}

/** Runs the service until SIGTERM or Ctrl-C. */
export async function runService(): Promise<void> {
  const { url, close } = await startService();
  console.log(`Sign in at ${url}`);
  const stop = () => void close().then(() => process.exit(0));
  process.once("SIGTERM", stop).once("SIGINT", stop);
}

if (import.meta.main) await runService();
