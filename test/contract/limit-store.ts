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
    expect(await editor.change("acme", { tasks_in_progress: 0 })).toEqual({ tasks_in_progress: 0 });
    expect(await store.ofDeployment()).toEqual({ default: {}, depth: {}, overridden: true });
    expect(await store.ofTenant("acme")).toEqual({ tasks_in_progress: 0 });
    expect(await store.ofTenant("globex")).toBeUndefined();
  });

  test("a change leaves a tenant's other limits as they are", async () => {
    const { store, editor } = pair();
    await editor.change("acme", { tasks_in_progress: 5, burst: null });
    expect(await editor.change("acme", { request_bytes: 10, burst: 2 })).toEqual({
      ...{ tasks_in_progress: 5, request_bytes: 10, burst: 2 },
    });
    expect(await editor.change("acme", { burst: "unset", tasks_in_progress: null })).toEqual({
      ...{ tasks_in_progress: null, request_bytes: 10 },
    });
    await editor.change("acme", { submits_per_second: undefined, request_bytes: "unset" });
    expect(await store.ofTenant("acme")).toEqual({ tasks_in_progress: null });
  });

  test("the last limit can be unset, also one that was not set", async () => {
    const { store, editor } = pair();
    expect(await editor.change("acme", { burst: "unset" })).toEqual({});
    await editor.change("acme", { burst: 1 });
    await editor.change("acme", { burst: "unset" });
    expect((await store.ofTenant("acme")) ?? {}).toEqual({});
  });

  test("no change is lost when several come at the same time, the first one for a tenant included", async () => {
    const { store, editor } = pair();
    await Promise.all([
      editor.change("acme", { submits_per_second: 1 }),
      editor.change("acme", { burst: 2 }),
      editor.change("acme", { tasks_in_progress: 3 }),
      editor.change("acme", { request_bytes: 4 }),
    ]);
    const all = { submits_per_second: 1, burst: 2, tasks_in_progress: 3, request_bytes: 4 };
    expect(await store.ofTenant("acme")).toEqual(all);
    await Promise.all([
      editor.change("acme", { burst: "unset" }),
      editor.change("acme", { request_bytes: null }),
      editor.change("acme", { tasks_in_progress: 9 }),
    ]);
    expect(await store.ofTenant("acme")).toEqual({ submits_per_second: 1, tasks_in_progress: 9, request_bytes: null });
  });
}
