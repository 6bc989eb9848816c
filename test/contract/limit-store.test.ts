import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DynamoLimitEditor } from "../../src/aws/limit-editor.ts";
import { DynamoLimitStore } from "../../src/aws/limit-store.ts";
import type { LimitEditor, LimitStore } from "../../src/core/limits.ts";
import { MemoryLimits } from "../../src/memory/limits.ts";
import { emulatedTable } from "../support/emulated-table.ts";

/** What every implementation does, that operators write with the editor and functions read with the store. */
function suite(pair: () => { store: LimitStore; editor: LimitEditor }) {
  test("nothing is limited until somebody says so", async () => {
    const { store } = pair();
    expect(await store.ofDeployment()).toBeUndefined();
    expect(await store.ofTenant("acme")).toBeUndefined();
  });

  test("defaults and depths are kept beside each other", async () => {
    const { store, editor } = pair();
    await editor.setDefault({ submits_per_second: 2.5, burst: null });
    await editor.setDepth({ low: 100 });
    expect(await store.ofDeployment()).toEqual({
      default: { submits_per_second: 2.5, burst: null },
      depth: { low: 100 },
      overridden: false,
    });
    await editor.setDefault({});
    expect(await store.ofDeployment()).toEqual({ default: {}, depth: { low: 100 }, overridden: false });
  });

  test("a tenant's own are announced, and its own", async () => {
    const { store, editor } = pair();
    await editor.setTenant("acme", { tasks_in_progress: 0 });
    expect(await store.ofDeployment()).toEqual({ default: {}, depth: {}, overridden: true });
    expect(await store.ofTenant("acme")).toEqual({ tasks_in_progress: 0 });
    expect(await store.ofTenant("globex")).toBeUndefined();
    await editor.setTenant("acme", { request_bytes: 10 });
    expect(await store.ofTenant("acme")).toEqual({ request_bytes: 10 });
  });
}

describe("limits in memory", () => {
  suite(() => {
    const both = new MemoryLimits();
    return { store: both, editor: both };
  });
});

describe("limits in the table", () => {
  let emulated: Awaited<ReturnType<typeof emulatedTable>>;
  beforeEach(async () => {
    emulated = await emulatedTable();
  });
  afterEach(() => emulated.close());
  suite(() => ({
    store: new DynamoLimitStore(emulated.documents, emulated.table),
    editor: new DynamoLimitEditor(emulated.documents, emulated.table),
  }));
});
