import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import { world } from "./tasks/lib/world.ts";
import toImages from "./tasks/pdf.to_images.ts";

const begin = (pages: number | null = 3) =>
  world.begin({ "db/version": () => ({ url: "s3://x", pages }), "pdf/count": () => 3 });
const input = { documentId: "d", versionId: "v", version: 2 };

test("a page that fails is tried again, and the others are not", async () => {
  begin(null);
  world.refuse("pdf/image", [500]);
  const outcome = await testKit([toImages]).run(toImages, input);
  expect(outcome).toMatchObject({ result: { pages: 3 }, progressMessage: "3 / 3 pages processed" });
  expect(world.of("pdf/image").map(({ page }) => page)).toEqual([1, 2, 3]);
});

test("a blocked document is final", async () => {
  begin();
  world.refuse("pdf/image", [400], "blocked by keyword");
  const outcome = await testKit([toImages]).run(toImages, input);
  expect(outcome).toMatchObject({ status: "failed", error: expect.stringContaining("blocked by keyword") });
  expect(outcome.attempts).toHaveLength(1);
});

test("each page is made once, wherever the worker dies", async () => {
  begin();
  await testKit([toImages]).crashEverywhere(toImages, input, ({ status }) => {
    expect([status, world.of("pdf/image").length]).toEqual(["completed", 3]);
    begin();
  });
});
