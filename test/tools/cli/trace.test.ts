import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { programOf } from "./stub-api.ts";

const { bare } = programOf({ trace: () => import("../../../src/tools/cli/trace-commands.ts") });

const folder = mkdtempSync(join(tmpdir(), "offload-trace-"));
afterAll(() => rmSync(folder, { recursive: true }));

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";

const span = (id: string, parent: string | null, more: object = {}) =>
  JSON.stringify({
    trace_id: traceId,
    span_id: id,
    parent_id: parent,
    name: `span ${id}`,
    kind: "server",
    started_at: "2026-01-01T10:00:00.000Z",
    duration_ms: 1,
    failed: false,
    reason: null,
    attributes: {},
    ...more,
  });

let files = 0;

/** Runs the command on a file of these lines. */
async function shown(lines: readonly string[]) {
  const file = join(folder, `${++files}.jsonl`);
  writeFileSync(file, lines.join("\n"));
  const written = await bare(["trace", traceId, "--file", file]);
  const names = [...written.out.matchAll(/^ *span \w+/gm)].map(([name]) => name);
  return { ...written, names };
}

describe("a trace", () => {
  test("a trace is a tree, in the order of time", async () => {
    const later = { started_at: "2026-01-01T10:00:01.000Z" };
    const { code, names } = await shown([span("c", "a", later), span("b", "a"), span("d", "b"), span("a", "gone")]);
    expect(code).toBe(0);
    expect(names).toEqual(["span a", "  span b", "    span d", "  span c"]);
  });

  test.for(["null", "[]", '"text"', `{"trace_id":"${traceId}"}`, span("b", "a", { started_at: 5 }), '{"trace_id":"4b'])(
    "a line that is not a span is left out: %s",
    async (line) => {
      const { code, names } = await shown([line, span("a", null)]);
      expect(code).toBe(0);
      expect(names).toEqual(["span a"]);
    },
  );

  test("each span is shown once, even when its parents form a circle", async () => {
    const { names } = await shown([span("a", "a"), span("b", "c"), span("c", "b"), span("d", null)]);
    expect(names.sort()).toEqual(["span a", "span b", "span c", "span d"]);
  });

  test("a deep trace is shown with readable names", async () => {
    const { names } = await shown(Array.from({ length: 500 }, (_, n) => span(`s${n}`, n === 0 ? null : `s${n - 1}`)));
    expect(names).toHaveLength(500);
  });

  test("a span cannot write control characters to the screen", async () => {
    const { out } = await shown([span("a", null, { name: "\x1b[2Jspan a\nspan b", failed: true, reason: "\x07" })]);
    expect(out).not.toMatch(/(?!\n)\p{Cc}/u);
    expect(out.trim().split("\n")).toHaveLength(4);
  });
});
