import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import score from "../../examples/recipes/customers.score.ts";
import fulfil from "../../examples/recipes/order.fulfil.ts";
import { signal } from "../../src/core/extras/steps/signal.ts";
import { memoryPipeline } from "../support/memory-pipeline.ts";

/* The long examples of docs/steps.md and docs/long-work.md. */

interface Call {
  url: URL;
  key: string | undefined;
  body: string;
}

let calls: Call[];
let answer: (call: Call) => unknown;

beforeEach(() => {
  calls = [];
  for (const name of ["SHOP_URL", "CRM_URL"]) vi.stubEnv(name, "https://shop.example.com");
  vi.spyOn(globalThis, "fetch").mockImplementation(async (url, { headers, body } = {}) => {
    const call = {
      url: new URL(`${url}`),
      key: new Headers(headers).get("idempotency-key") ?? undefined,
      body: `${body}`,
    };
    calls.push(call);
    const json = await answer(call);
    return (json instanceof Response ? json : { ok: true, json: async () => json }) as Response;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

test.each([
  ["steps", "order.fulfil"],
  ["long-work", "customers.score"],
])("the page %s has the code of %s", (page, name) => {
  const code = readFileSync(`examples/recipes/${name}.ts`, "utf8");
  expect(readFileSync(`docs/${page}.md`, "utf8")).toContain(`\`\`\`ts\n// tasks/${name}.ts\n${code}\`\`\`\n`);
});

describe("order.fulfil", () => {
  const paths = () => calls.map(({ url }) => url.pathname);

  beforeEach(() => {
    answer = ({ url }) => ({ id: url.pathname.split("/").at(-1) });
  });

  test("an order that is paid is shipped, and a week later the customer is asked for a review", async () => {
    const pipeline = memoryPipeline([fulfil]);
    const task = await pipeline.accept({ input: { order: "7" } });
    await pipeline.work();
    expect(paths()).toEqual(["/orders/7/reservation"]);
    await signal(pipeline.ports, await pipeline.recordOf(task), "payment", { paid: true });
    const paidAt = pipeline.clock.now();
    await pipeline.drain();
    const shipped = ["/reservations/reservation/shipment", "/orders/7/review-mail"];
    expect(paths()).toEqual(["/orders/7/reservation", ...shipped]);
    expect(new Set(calls.map(({ key }) => key)).size).toBe(3);
    expect(pipeline.clock.now() - paidAt).toBeGreaterThanOrEqual(7 * 86_400_000);
    expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", outcome: "SHIPPED", attempts: 1 });
  });

  test("an order that nobody pays in three days is released", async () => {
    const pipeline = memoryPipeline([fulfil]);
    const task = await pipeline.accept({ input: { order: "7" } });
    await pipeline.drain();
    expect(paths()).toEqual(["/orders/7/reservation", "/reservations/reservation/release"]);
    expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", outcome: "NOT_PAID" });
  });
});

describe("customers.score", () => {
  const pages = 5;
  const read = () => calls.flatMap(({ url }) => url.searchParams.get("after") ?? []);
  const page = ({ url }: Call) => {
    const number = Number(url.searchParams.get("after") || 0);
    return { rows: [{ id: `${number}`, orders: 3 }], next: number + 1 < pages ? `${number + 1}` : null };
  };

  test("an attempt that has less than a minute left goes on in a new one, and no page is read twice", async () => {
    const pipeline = memoryPipeline([score]);
    answer = async (call) => {
      if (call.url.pathname !== "/rows") return null;
      await new Promise<void>((resolve) => pipeline.clock.after(280_000, resolve));
      return page(call);
    };
    const task = await pipeline.accept({ input: { source: "https://rows.example.com/rows" } });
    const isOpen = async () => (await pipeline.recordOf(task)).status !== "completed";
    while (await isOpen()) {
      const working = pipeline.work();
      let ended = false;
      void working.then(() => {
        ended = true;
      });
      while (!ended) await pipeline.clock.advance(10_000);
    }
    const record = await pipeline.recordOf(task);
    expect(record).toMatchObject({ status: "completed", result: { rows: pages }, attempts: 1 });
    expect(record.attempts_total).toBe(3);
    expect(read()).toEqual(["", "1", "2", "3", "4"]);
  });

  test("after a failure only the page runs again whose checkpoint is missing", async () => {
    const pipeline = memoryPipeline([score]);
    let failed = false;
    answer = (call) => {
      if (call.url.pathname === "/rows") return page(call);
      if (failed || !call.body.includes('"id":"2"')) return null;
      failed = true;
      return new Response(null, { status: 500 });
    };
    const task = await pipeline.accept({ input: { source: "https://rows.example.com/rows" } });
    await pipeline.drain();
    expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", result: { rows: pages }, attempts: 2 });
    expect(read()).toEqual(["", "1", "2", "2", "3", "4"]);
  });
});
