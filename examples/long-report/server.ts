import { mkdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { html } from "hono/html";
import { proxy } from "hono/proxy";
import { createClient, ProblemError } from "offload/client";
import * as z from "zod";

const id = ":id{[0-9a-f-]{36}}";

/** The requests that pages may send to Offload. The server adds its key. */
const passedOn = [
  ["GET", "/tasks"],
  ["GET", `/tasks/${id}`],
  ["GET", `/tasks/${id}/result`],
  ["POST", `/tasks/${id}/cancel`],
  ["POST", `/tasks/${id}/extend`],
  ["POST", `/tasks/${id}/acknowledge`],
  ["POST", "/channels"],
] as const;

const files = {
  "/": ["index.html", "text/html"],
  "/page.js": ["page.js", "text/javascript"],
  "/page.css": ["page.css", "text/css"],
} as const;

const reportSchema = z.object({
  region: z.string(),
  outcome: z.string(),
  totals: z.array(z.object({ month: z.string(), orders: z.int(), cents: z.int() })),
});

const reportPage = ({ region, outcome, totals }: z.infer<typeof reportSchema>) => html`<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <title>Sales of ${region}</title>
  <link rel="stylesheet" href="/page.css">
  <h1>Sales of ${region}</h1>
  <p>Result: <strong>${outcome}</strong></p>
  <table>
    <tr><th>month</th><th>orders</th><th>amount</th></tr>
    ${totals.map((row) => html`<tr><td>${row.month}</td><td>${row.orders}</td><td>${(row.cents / 100).toFixed(2)}</td></tr>`)}
  </table>
</html>`;

/** Passes a refusal of Offload on to the page: its status, its faults and its `Retry-After`. */
function answerError(error: Error, c: Context) {
  if (error instanceof ProblemError) {
    const { code, detail, errors, retryAfterSeconds } = error;
    const wait: Record<string, string> =
      retryAfterSeconds === undefined ? {} : { "retry-after": `${retryAfterSeconds}` };
    return new Response(JSON.stringify({ code, detail, errors }), {
      status: error.status,
      headers: { "content-type": "application/problem+json", ...wait },
    });
  }
  console.error(error);
  return c.json({ code: "unavailable", detail: "Try again." }, 503, { "retry-after": "5" });
}

function createApp(env: NodeJS.ProcessEnv): Hono {
  const { OFFLOAD_URL = "http://127.0.0.1:3000", OFFLOAD_KEY = "", REPORTS_KEY, REPORTS_FOLDER = "reports" } = env;
  if (!REPORTS_KEY) throw new Error("REPORTS_KEY is not set: the key with which handlers store reports here");
  // More tries than the default: a burst waits here until Offload takes all of it.
  const offload = createClient({ url: OFFLOAD_URL, key: OFFLOAD_KEY, maxTries: 20 });
  const app = new Hono();
  mkdirSync(REPORTS_FOLDER, { recursive: true });

  app.post("/api/reports", async (c) => {
    const idempotencyKey = c.req.header("idempotency-key");
    const input = await c.req.json().catch(() => null);
    return c.json(await offload.submit("report.make", input, { idempotencyKey, tags: { client: "page" } }), 202);
  });

  for (const [method, path] of passedOn) {
    app.on(method, `/api${path}`, async (c) => {
      const { pathname, search } = new URL(c.req.url);
      const headers = { "content-type": c.req.header("content-type"), authorization: `Bearer ${OFFLOAD_KEY}` };
      const body = method === "POST" ? await c.req.text() : null;
      const url = new URL(pathname.slice("/api".length) + search, OFFLOAD_URL);
      return proxy(url, { method, headers, body, redirect: "manual", signal: c.req.raw.signal });
    });
  }

  const fileOf = (id: string) => join(REPORTS_FOLDER, `${id}.json`);

  app.put(`/reports/${id}`, async (c) => {
    if (c.req.header("authorization") !== `Bearer ${REPORTS_KEY}`) return c.text("only for handlers", 401);
    await writeFile(fileOf(c.req.param("id")), JSON.stringify(reportSchema.parse(await c.req.json())));
    return c.body(null, 204);
  });

  app.get(`/reports/${id}`, async (c) => {
    const text = await readFile(fileOf(c.req.param("id")), "utf8").catch(() => undefined);
    return text === undefined ? c.text("no such report", 404) : c.html(reportPage(JSON.parse(text)));
  });

  for (const [path, [name, type]] of Object.entries(files)) {
    const place = new URL(`page/${name}`, import.meta.url);
    app.get(path, async (c) =>
      c.body(await readFile(place, "utf8"), 200, { "content-type": `${type}; charset=utf-8` }),
    );
  }

  app.onError(answerError);
  return app;
}

/** Starts the server with the settings of its environment. Resolves when it listens. */
export function startServer(env: NodeJS.ProcessEnv = process.env): Promise<{ url: string; close(): void }> {
  const [hostname, port] = ["127.0.0.1", Number(env.WEB_PORT ?? 4000)];
  return new Promise((listening, reject) => {
    const server = serve({ fetch: createApp(env).fetch, hostname, port }, (info) =>
      listening({ url: `http://${hostname}:${info.port}`, close: () => void server.close() }),
    );
    server.once("error", reject);
  });
}

if (import.meta.main) console.log(`Make reports at ${(await startServer()).url}`);
