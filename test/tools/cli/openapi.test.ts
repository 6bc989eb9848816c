import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { openApiDocument } from "../../../src/api/openapi/document.ts";
import { programOf } from "./stub-api.ts";

const { bare } = programOf({ openapi: () => import("../../../src/tools/cli/openapi.ts") });

test("the command prints the document of the project's own task types, without the probes", async () => {
  const { code, out } = await bare(["openapi"]);
  const document = JSON.parse(out) as ReturnType<typeof openApiDocument>;
  expect(code).toBe(0);
  expect(document.openapi).toBe("3.1.1");
  const types = Object.keys(document.components.schemas).filter((name) => name.endsWith(".submit"));
  expect(types).toEqual(["invoice.generate.submit"]);
});

test("--out writes the document to a file, and --probes adds the probe types", async () => {
  const folder = mkdtempSync(join(tmpdir(), "offload-openapi-"));
  try {
    const file = join(folder, "openapi.json");
    expect(await bare(["openapi", "--probes", "--out", file])).toMatchObject({ code: 0, out: "" });
    expect(readFileSync(file, "utf8")).toContain('"probe.echo.submit"');
    const missing = await bare(["openapi", "--out", join(folder, "missing", "openapi.json")]);
    expect(missing).toMatchObject({ code: 1, out: "" });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
