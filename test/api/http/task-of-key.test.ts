import { describe, expect, test } from "vitest";
import { apiRoutes } from "../../../src/api/http/routes.ts";
import { ada, ask, gina, olga, otto, problem, sam, served, sue } from "../../support/served.ts";

const key = "post/47:11 ä?";
const address = `~echo:${encodeURIComponent(key)}`;
const unique = { key };

/** The routes of one task, each with its path for an id. */
const ofTask = apiRoutes
  .filter(({ path }) => path.includes("{task_id}"))
  .map(({ name, method, path, functionName }) => {
    const at = (id: string) => path.replace("{task_id}", id).replace("{name}", "go");
    return { name, method, at, app: functionName as "status" | "control" };
  });

describe("a task named by its unique key", () => {
  test.each(ofTask)("$name finds it as by its id, and for nobody else", async ({ name, method, at, app }) => {
    const own = served();
    const task = await own.accepted({ unique }, { as: sam });
    const other = served();
    const { task_id } = await other.accepted({ unique }, { as: sam });
    const how = { method, ...(method === "POST" && { json: bodies[name] ?? {} }) };
    for (const as of [sam, sue, olga, gina]) {
      const byId = await ask(other[app], at(task_id), { ...how, as });
      const byKey = await ask(own[app], at(address), { ...how, as });
      const expected = as === olga ? 404 : byId.status;
      // An operator may have no right to what a submitter named.
      expect([as.principal, byKey.status]).toEqual([as.principal, byId.status === 403 ? 403 : expected]);
      if (byKey.status === 404) {
        const none = await ask(own[app], at("~echo:none"), { ...how, as });
        expect({ ...byKey.json, correlation_id: "" }).toEqual({ ...none.json, correlation_id: "" });
      }
    }
    expect(task.unique_key).toBeDefined();
  });

  const bodies: Readonly<Record<string, object>> = {
    changeTaskPriority: { priority: "low" },
    extendTask: { retention_seconds: 60 },
    changeTaskInput: { input: { value: 1 } },
  };

  test("it is the newest one that has or had the key", async () => {
    const app = served();
    const first = await app.accepted({ unique });
    const seen = async () => (await ask(app.status, `/tasks/${address}`, { as: otto })).json;
    expect(await seen()).toMatchObject({ task_id: first.task_id, status: "pending" });
    await ask(app.control, `/tasks/${address}/cancel`, { method: "POST" });
    expect(await seen()).toMatchObject({ task_id: first.task_id, status: "cancelled" });
    const second = await app.accepted({ unique });
    expect(second.task_id).not.toBe(first.task_id);
    expect(await seen()).toMatchObject({ task_id: second.task_id, status: "pending" });
  });

  test("an admin names the keys of another tenant's operators", async () => {
    const app = served();
    const { task_id } = await app.accepted({ unique }, { as: gina });
    const path = `/tasks/${address}?tenant=globex`;
    expect((await ask(app.status, path, { as: ada })).json).toMatchObject({ task_id });
    expect(await ask(app.status, `/tasks/${address}`, { as: ada })).toMatchObject(problem(404, "not_found"));
  });

  test.each(["~", "~echo", "~echo:", "~:k", "~other:k", "~echo:k%", `~echo:${"k".repeat(257)}`, "~echo:%00"])(
    "%s names no task",
    async (name) => {
      const app = served();
      await app.accepted({ unique: { key: "k" } });
      expect(await ask(app.status, `/tasks/${name}`)).toMatchObject(problem(404, "not_found"));
    },
  );

  test("the audit has the id of the task", async () => {
    const app = served();
    const { task_id } = await app.accepted({ unique });
    await ask(app.control, `/tasks/${address}/cancel`, { method: "POST" });
    const { json } = await ask(app.status, `/audit?task_id=${task_id}`);
    expect(json.entries).toMatchObject([
      { action: "cancelTask", target: { task_id, unique_key: `echo:${key}` }, status: 200 },
    ]);
  });
});

describe("unique_key in GET /tasks", () => {
  const idsOf = async ({ status }: ReturnType<typeof served>, query: string, as = olga) => {
    const { json } = await ask(status, `/tasks?${query}`, { as });
    return (json.tasks as { task_id: string }[]).map(({ task_id }) => task_id);
  };

  test("the tasks of a key are listed: a submitter's own, and for an operator those of all submitters", async () => {
    const app = served();
    const own = [await app.accepted({ unique }, { as: sam }), await app.accepted({ unique }, { as: sue })];
    const shared = await app.accepted({ unique });
    await app.accepted({ unique: { key: "other" } });
    await app.accepted({});
    const query = `type=echo&unique_key=${encodeURIComponent(key)}`;
    expect(await idsOf(app, query, sam)).toEqual([own[0]?.task_id]);
    expect((await idsOf(app, query)).toSorted()).toEqual([...own, shared].map(({ task_id }) => task_id).toSorted());
    expect(await idsOf(app, "type=other&unique_key=k")).toEqual([]);
  });

  test("it needs the type", async () => {
    const { status } = served();
    const refused = await ask(status, "/tasks?unique_key=k");
    expect(refused).toMatchObject(problem(422, "invalid_input"));
    expect(refused.json.errors).toMatchObject([{ path: "/type" }]);
    expect(await ask(status, "/tasks?type=echo&unique_key=")).toMatchObject(problem(422, "invalid_input"));
  });
});
