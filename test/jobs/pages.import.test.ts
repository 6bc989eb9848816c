import { PermanentError } from "offload";
import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import { world } from "./tasks/lib/world.ts";
import importPages from "./tasks/pages.import.ts";
import importSome from "./tasks/pages.import_some.ts";

const links: Record<string, string[]> = { root: ["a", "b", "c", "d"], a: ["e"], d: ["f", "g"] };
const begin = () => world.begin({ "wiki/page": ({ page }) => ({ links: links[page as string] ?? [] }) });
const kit = testKit([importPages, importSome]);
const input = { importId: "i", roots: ["root"] };

test("pages that are found while it runs are imported, too", async () => {
  begin();
  world.refuse("wiki/page", [500]);
  expect(await kit.run(importPages, input)).toMatchObject({ status: "completed" });
  expect(
    world
      .of("db/document")
      .map(({ page }) => page)
      .sort(),
  ).toEqual([..."abcdefg", "root"]);
  expect(world.of("db/import")).toEqual([{ importId: "i", state: "processed" }]);
});

test("a page that fails for good ends the import, and the rest is cancelled", async () => {
  begin();
  const faults = [
    { child: ["1", "3"], step: "claim", how: "throw" as const, error: new PermanentError("no such page") },
  ];
  const outcome = await kit.run(importPages, input, { faults });
  expect(outcome).toMatchObject({ status: "failed", errorKind: "children_failed" });
  expect(world.of("db/import")).toEqual([{ importId: "i", state: "errored" }]);
});
