import { expect, test } from "vitest";
import type { LimitEditor, LimitStore } from "../../src/core/limits/ports.ts";

/** What every implementation does, that operators write with the editor and functions read with the store. */
export function limitStoreContract(pair: () => { store: LimitStore; editor: LimitEditor }) {
  test("there are no limits at first", async () => {
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

  test("a tenant's own limits are announced for the deployment, and belong to that tenant only", async () => {
    const { store, editor } = pair();
    await editor.setTenant("acme", { tasks_in_progress: 0 });
    expect(await store.ofDeployment()).toEqual({ default: {}, depth: {}, overridden: true });
    expect(await store.ofTenant("acme")).toEqual({ tasks_in_progress: 0 });
    expect(await store.ofTenant("globex")).toBeUndefined();
    await editor.setTenant("acme", { request_bytes: 10 });
    expect(await store.ofTenant("acme")).toEqual({ request_bytes: 10 });
  });
}
