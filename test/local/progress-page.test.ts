import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiGatewayManagementApiClient, DeleteConnectionCommand } from "@aws-sdk/client-apigatewaymanagementapi";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createBackend } from "../../examples/progress-page/backend.ts";
import { pushNotice } from "../../src/core/notify/push-notice.ts";
import type { ChangeNotice } from "../../src/core/ports/notify.ts";
import { listen } from "../../src/local/net/listen.ts";
import { chromium, noChromium, whileOpen } from "../support/browser.ts";
import { Client } from "../support/http-client.ts";
import { changeNotice, endNotice } from "../support/notices.ts";
import { principalOf, pushPorts, startHere } from "../support/own-process-server.ts";

if (chromium === undefined) {
  console.error(`\n!!! THE EXAMPLE PAGE WAS NOT TESTED IN A BROWSER: NO CHROMIUM !!!\n${noChromium}\n`);
}

const localAws = { region: "us-east-1", credentials: { accessKeyId: "local", secretAccessKey: "local" } };

/** Reports what the page shows, and makes a report when the test asks for one. */
const observer = `<script type="module">
  for (;;) {
    const rows = [...document.querySelectorAll("li")].map((row) => ({
      id: row.id, progress: row.children[0].value, text: row.children[1].textContent,
    }));
    const body = JSON.stringify({ channel: document.getElementById("channel").textContent, rows });
    const { click } = await (await fetch("/observed", { method: "POST", body })).json();
    if (click) document.getElementById("start").click();
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
</script>`;

interface Shown {
  channel: string;
  rows: { id: string; progress: number; text: string }[];
}

describe.skipIf(chromium === undefined)("the example page in a browser", () => {
  let offload: Awaited<ReturnType<typeof startHere>>;
  let shown: Shown = { channel: "", rows: [] };
  let click = false;
  let requests: string[] = [];
  const site = createServer();
  let url = "";

  beforeAll(async () => {
    offload = await startHere({ OFFLOAD_TASKS: "examples/progress-page/tasks", OFFLOAD_PROBES: "0" });
    const backend = createBackend({ url: offload.url, key: "dev-acme-sub" });
    const page = readFileSync("examples/progress-page/page.html", "utf8") + observer;
    site.on("request", async (request, response) => {
      if (request.url === "/") return response.setHeader("content-type", "text/html").end(page);
      if (request.url !== "/observed") {
        requests.push(`${request.method} ${request.url}`);
        return backend(request, response);
      }
      shown = JSON.parse(Buffer.concat(await request.toArray()).toString("utf8")) as Shown;
      response.end(JSON.stringify({ click }));
      click = false;
    });
    url = `http://127.0.0.1:${await listen(site, 0)}/`;
  }, 300_000);
  afterAll(async () => {
    site.closeAllConnections();
    site.close();
    await offload.close();
  });

  const until = async (holds: (page: Shown) => boolean) => {
    for (const start = Date.now(); !holds(shown); await sleep(20)) {
      if (Date.now() - start > 300_000) throw new Error(`the page shows ${JSON.stringify(shown)}`);
    }
  };
  const rowOf = (id: string) => shown.rows.find((row) => row.id === id);
  const connected = () => until(({ channel }) => channel === "connected");
  const own = () => ({ tenant_id: "acme", requested_by: principalOf("dev-acme-sub") });
  /** Closes the page's connections from the API's side. */
  const cutAll = async () => {
    const management = new ApiGatewayManagementApiClient({
      ...localAws,
      endpoint: process.env.OFFLOAD_SOCKET_ENDPOINT ?? "",
    });
    const { tenant_id, requested_by } = own();
    for (const { connection_id } of await pushPorts().connections.hearing(tenant_id, requested_by)) {
      await management.send(new DeleteConnectionCommand({ ConnectionId: connection_id })).catch(() => {});
    }
  };
  const progress = (id: string, percent: number, more: Partial<ChangeNotice> = {}) =>
    pushNotice(pushPorts(), changeNotice({ ...own(), task_id: id, progress: percent, ...more }));
  const end = (id: string, text: string, more: object = {}) =>
    pushNotice(pushPorts(), endNotice({ ...own(), task_id: id, ...more }), { text });

  test("progress and result appear by push, and nothing of others", { timeout: 300_000 }, async () => {
    requests = [];
    const work = async () => {
      await connected();
      for (const percent of [20, 60]) {
        await progress("report-1", percent);
        await until(() => rowOf("report-1")?.progress === percent);
      }
      const others = [
        { requested_by: principalOf("dev-acme") },
        { tenant_id: "globex" },
        { tenant_id: "globex", requested_by: "olga" },
      ];
      for (const [index, other] of others.entries()) {
        await progress(`other-${index}`, 50, other);
        await end(`other-${index}`, "secret", other);
      }
      await end("report-1", "the whole report");
      await until(() => rowOf("report-1")?.text === "the whole report");
      expect(shown.rows.map(({ id }) => id)).toEqual(["report-1"]);
      expect(requests.filter((request) => request.includes("/reports"))).toEqual([]);
    };
    await whileOpen(url, work());
  });

  test("after a cut of the connection the page is right again", { timeout: 300_000 }, async () => {
    shown = { channel: "", rows: [] };
    const api = new Client(offload.url, { token: "dev-acme-sub", tenant: "acme", role: "submitter" });
    const work = async () => {
      await connected();
      click = true;
      await until(({ rows }) => rows.length === 1);
      const id = String(shown.rows[0]?.id);
      await progress(id, 5);
      await until(() => rowOf(id)?.progress === 5);
      requests = [];
      // The task ends while the page has no connection, so that no message can reach it.
      let ended = false;
      const task = api.ended(id).then(() => {
        ended = true;
      });
      for (; !ended; await sleep(20)) await cutAll();
      await task;
      await until(() => rowOf(id)?.text === "A report: 20 steps in 5 s");
      expect(requests).toContain(`GET /reports/${id}`);
      expect(requests.filter((request) => request === "POST /channel").length).toBeGreaterThan(0);
    };
    await whileOpen(url, work());
  });
});
