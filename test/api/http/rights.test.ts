import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type ApiRoute, apiRoutes, isChange, isOpen } from "../../../src/api/http/routes.ts";
import { descriptions } from "../../../src/api/openapi/descriptions.ts";
import type { Caller } from "../../fuzz/owners.ts";
import { callers, fuzzWorld } from "../../fuzz/world.ts";

const callerOf = (token: string): Caller => callers.find((one) => one.token === token) ?? expect.fail(token);

/** Asks a world as a caller. A body that is given, or the example of the document, is sent as JSON. */
function asking(world: ReturnType<typeof fuzzWorld>) {
  return ({ method, path }: Pick<ApiRoute, "method" | "path">, token: string, json: unknown = {}) =>
    world.send({
      ...{ method, path, query: "", caller: callerOf(token) },
      headers: { "content-type": "application/json", "x-correlation-id": "corr" },
      body: method === "GET" || method === "DELETE" ? "" : JSON.stringify(json),
    });
}

const secretInput = "only some read this";

/** A world where acme has one thing of each kind, and their ids by the parameters of paths. */
async function withThings() {
  const world = fuzzWorld();
  const ask = asking(world);
  const made = async (path: `/${string}`, json: object, id: string, by = "acme-op"): Promise<string> => {
    const { text } = await ask({ method: "POST", path }, by, json);
    return String(JSON.parse(text)[id] ?? expect.fail(text));
  };
  const task = { type: "broken", input: { value: 1, note: secretInput } };
  const callback = { url: "https://hooks.example/1" };
  const ids: Record<string, string> = {
    task_id: await made("/tasks", { ...task, callback }, "task_id"),
    schedule_id: await made("/schedules", { name: "hourly", cron: "0 * * * *", task }, "schedule_id"),
    webhook_id: await made("/webhooks", { url: "https://hooks.example/2" }, "webhook_id"),
    key_id: await made("/keys", { role: "submitter" }, "key_id", "acme-admin"),
  };
  for (let count = 0; count < 3; count++) await world.live();
  ids.operation_id = await made("/dead-letters/replay", { filter: {} }, "operation_id");
  return { ...world, ask, ids };
}

const parameterOf = ({ path }: ApiRoute): string => /\{(\w+_id)\}/.exec(path)?.[1] ?? "";

/** A path with an id, and names of what is no id. */
const pathWith = ({ path }: ApiRoute, id: string): ApiRoute["path"] =>
  path.replaceAll(/\{(\w+)\}/g, (_, name) => (name.endsWith("_id") ? id : "approved")) as ApiRoute["path"];

const withIds = apiRoutes.filter((route) => !["", "tenant_id"].includes(parameterOf(route)));
const unknown: Record<string, () => string> = { key_id: () => "abcdefgh23456789" };

const strangers = ["globex-sub1", "globex-op", "globex-admin"];

test.each(withIds)(
  "$method $path answers another tenant as if the id had never existed, and changes nothing",
  async (route) => {
    const { ask, ids, ports } = await withThings();
    const foreign = ids[parameterOf(route)] ?? expect.fail(route.path);
    const known = async () =>
      JSON.stringify([ports.records.all(), await ports.receivers.list("acme"), await ports.keys.list("acme")]);
    const before = await known();
    const others = parameterOf(route) === "task_id" ? [...strangers, "acme-sub1"] : strangers;
    for (const token of others) {
      const never = unknown[parameterOf(route)]?.() ?? randomUUID();
      const json = descriptions[route.name].example;
      const { text, ...answer } = await ask({ ...route, path: pathWith(route, foreign) }, token, json);
      const expected = await ask({ ...route, path: pathWith(route, never) }, token, json);
      expect({ ...answer, text: text.replaceAll(foreign, "ID") }, token).toEqual({
        ...expected,
        text: expected.text.replaceAll(never, "ID"),
      });
      expect([403, 404], token).toContain(answer.status);
    }
    expect(await known()).toBe(before);
  },
);

test.each(apiRoutes.filter((route) => !isOpen(route)))(
  "$method $path answers 401 without a key, and with a wrong one",
  async (route) => {
    const { ask, ids } = await withThings();
    const path = pathWith(route, ids[parameterOf(route)] ?? "acme");
    for (const { token } of callers.slice(0, 2)) {
      const { status, headers } = await ask({ ...route, path }, token);
      expect([status, headers["www-authenticate"]]).toEqual([401, "Bearer"]);
    }
  },
);

/** Requests of acme's callers, whose ids exist. */
const asked = (route: ApiRoute, ids: Record<string, string>) => {
  const { example } = descriptions[route.name];
  return [{ ...route, path: pathWith(route, ids[parameterOf(route)] ?? "acme") }, example] as const;
};

const needed = apiRoutes.filter((route) => !isOpen(route));
const changes = needed.filter(isChange);
const reads = needed.filter((route) => !isChange(route));

describe("a viewer", () => {
  test.each(changes)("$method $path is a change: 403, and nothing is changed or recorded", async (route) => {
    const { ask, ids, ports } = await withThings();
    const known = async () =>
      JSON.stringify([
        ports.records.all(),
        await ports.receivers.list("acme"),
        await ports.keys.list("acme"),
        (await ports.audit.list({ tenantId: "acme", limit: 100 })).items,
      ]);
    const before = await known();
    for (const token of ["acme-view", "acme-viewall"]) {
      const [request, example] = asked(route, ids);
      const { status, text } = await ask(request, token, example);
      expect([status, JSON.parse(text).code], token).toEqual([403, "forbidden"]);
    }
    expect(await known()).toBe(before);
  });

  const secrets = ["readWebhookSecret"];
  const withInputs = ["readInput", "listLogs"];

  test.each(reads)("$method $path is read as an operator reads it", async (route) => {
    const { ask, ids } = await withThings();
    const [request, example] = asked(route, ids);
    const statusFor = async (token: string) => (await ask(request, token, example)).status;
    const expected = secrets.includes(route.name) ? 403 : await statusFor("acme-op");
    expect(await statusFor("acme-viewall")).toBe(expected);
    expect(await statusFor("acme-view")).toBe(withInputs.includes(route.name) ? 403 : expected);
  });

  test("reads the input of no task, dead letter or schedule without `inputs`, and with it all of them", async () => {
    const { ask, ids } = await withThings();
    // The error of this type quotes its input, and so the text of a text: a member of a JSON value is no quote.
    const shownTo = async (token: string): Promise<string[]> => {
      const shown: string[] = [];
      for (const route of reads) {
        const [request, example] = asked(route, ids);
        if ((await ask(request, token, example)).text.includes(`"note":"${secretInput}"`)) shown.push(route.name);
      }
      return shown.sort();
    };
    expect(await shownTo("acme-view")).toEqual([]);
    const all = ["listDeadLetters", "listSchedules", "readInput", "readSchedule"];
    expect(await shownTo("acme-viewall")).toEqual(all);
    expect(await shownTo("acme-op")).toEqual(all);
  });
});
