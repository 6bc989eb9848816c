import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KeptSpan } from "../../src/local/traces/kept-span.ts";
import { Client, until } from "../support/http-client.ts";
import { type OwnServer, startOwnServer } from "../support/local-server.ts";
import { deployed, offloadAnywhere as offload } from "./command-line.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";

describe.skipIf(deployed)("a trace (a local server of the test's own)", () => {
  const folder = mkdtempSync(join(tmpdir(), "offload-spans-"));
  const file = join(folder, "spans.jsonl");
  let server: OwnServer;
  let client: Client;

  beforeAll(async () => {
    server = await startOwnServer({ OFFLOAD_TRACING: "1", OFFLOAD_SPANS_FILE: file });
    client = new Client(server.url, { token: "dev-acme", tenant: "acme", role: "operator" });
  });

  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true });
  });

  const shown = async (id: string) => {
    const { code, out } = await offload(["trace", id, "--file", file, "--json"]);
    return code === 0 ? (JSON.parse(out) as { spans: KeptSpan[] }).spans : [];
  };

  test("a trace has the request and every attempt of its task, wherever they ran", async () => {
    const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
    const { task_id } = await client.submit("probe.fail", { kind: "transient", times: 1 }, {}, headers);
    await client.ended(task_id);
    const spans = await until("the spans", async () => {
      const found = (await shown(traceId)).filter(({ name }) => !name.startsWith("GET"));
      return found.length >= 3 ? found : undefined;
    });
    const [request, first, second] = spans;
    expect(request).toMatchObject({
      name: "POST /tasks",
      kind: "server",
      parent_id: "00f067aa0ba902b7",
      failed: false,
    });
    expect(first).toMatchObject({ name: "task probe.fail", kind: "consumer", failed: true, reason: "Error" });
    expect(second).toMatchObject({ name: "task probe.fail", failed: false, attributes: { "offload.attempt": 2 } });
    for (const span of [first, second]) expect(span).toMatchObject({ trace_id: traceId, parent_id: request?.span_id });
    expect(await shown(task_id)).toHaveLength(spans.length);
  });

  test("the command fails for a trace without spans", async () => {
    expect(await offload(["trace", "f".repeat(32), "--file", file])).toMatchObject({ code: 1, out: "" });
    expect(await offload(["trace", traceId, "--file", join(folder, "none")])).toMatchObject({ code: 1 });
  });

  test("a trace is drawn as a tree", async () => {
    const { out } = await offload(["trace", traceId, "--file", file]);
    expect(out).toContain(`trace ${traceId}`);
    expect(out).toMatch(/\nPOST \/tasks .*\n {2}task probe\.fail .*failed: Error.*\n {2}task probe\.fail .*completed/);
  });
});
