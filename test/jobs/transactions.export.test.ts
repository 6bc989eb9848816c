import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import exportPage from "./tasks/export.page.ts";
import { world } from "./tasks/lib/world.ts";
import exportTransactions from "./tasks/transactions.export.ts";

const rowsOf = ({ ids }: { ids?: unknown }) => ({
  rows: (ids as string[]).map((id) => `2026-01-${id.slice(-2)},${id}`),
});
const kit = testKit([exportTransactions, exportPage]);
const idsOf = (count: number) => Array.from({ length: count }, (_, i) => `t${10 + i}`);
const linesOf = (result: unknown) => new TextDecoder().decode((result as { bytes: Uint8Array }).bytes).split("\n");

test("an export has the rows of all pages, the newest first", async () => {
  world.begin({ "db/transactions": rowsOf });
  const { result, progress } = await kit.run(exportTransactions, { ids: idsOf(250), day: "2026-11-28" });
  expect(result).toMatchObject({ fileName: "export-2026-11-28.csv" });
  expect(linesOf(result).slice(0, 2)).toEqual(["date,id", "2026-01-99,t99"]);
  expect([linesOf(result).length, world.of("db/transactions").length, progress]).toEqual([251, 3, []]);
});

test("a page that fails for good costs its own rows, and one that fails once costs nothing", async () => {
  world.begin({ "db/transactions": rowsOf });
  world.refuse("db/transactions", [404, 503]);
  const { result, children } = await kit.run(exportTransactions, { ids: idsOf(250), day: "2026-11-28" });
  expect(children.map(({ status }) => status)).toEqual(["failed", "completed", "completed"]);
  expect(linesOf(result)).toHaveLength(151);
});

test("no page is read twice after it was stored", async () => {
  world.begin({ "db/transactions": rowsOf });
  await kit.crashEverywhere(exportTransactions, { ids: idsOf(101), day: "2026-11-28" }, ({ result }) => {
    expect(linesOf(result)).toHaveLength(102);
    expect(world.of("db/transactions").length).toBeLessThanOrEqual(3);
    world.begin({ "db/transactions": rowsOf });
  });
});
