import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { testKit } from "offload/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import reportMake from "../tasks/report.make.ts";

/** Stored reports by their paths: a second PUT replaces the first. */
const stored = new Map<string, unknown>();
const server = createServer(async (request, response) => {
  stored.set(request.url ?? "", JSON.parse(await text(request)));
  response.writeHead(204).end();
});
beforeAll(async () => {
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  process.env.REPORTS_URL = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  process.env.REPORTS_KEY = "any";
});
afterAll(() => void server.close());

const input = { region: "east", firstMonth: "2025-11", months: 3, seconds: 0 } as const;

test("a report is stored once, and each month is added up once, wherever the worker dies", {
  timeout: 120_000,
}, async () => {
  await testKit([reportMake]).crashEverywhere(reportMake, { ...input, format: "page" }, (outcome) => {
    expect(outcome).toMatchObject({ status: "completed", outcome: "PARTIAL" });
    expect([...stored.values()]).toMatchObject([
      { region: "east", totals: [{ orders: 300 }, { orders: 310 }, { orders: 0 }] },
    ]);
    const months = outcome.log.filter(({ message }) => message === "month added up");
    // A worker can die between a month and its store: then this month, and no other, is added up again.
    expect(months.length).toBeLessThanOrEqual(4);
    stored.clear();
  });
});

test("a report without data has no file", async () => {
  const outcome = await testKit([reportMake]).run(reportMake, { ...input, firstMonth: "2030-01" });
  expect(outcome).toMatchObject({ status: "completed", outcome: "NO_DATA", result: null });
});

test("the shares of a month's orders add up to 100 percent", async () => {
  const { result } = await testKit([reportMake]).run(reportMake, { ...input, months: 1 });
  const [, ...lines] = new TextDecoder()
    .decode((result as { bytes: Uint8Array }).bytes)
    .trim()
    .split("\r\n");
  expect(lines).toHaveLength(300);
  expect(lines.reduce((sum, line) => sum + Number(line.split(",")[3]), 0)).toBeCloseTo(100, 3);
});
