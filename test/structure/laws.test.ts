import { globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { capacityOf, feedOf } from "../../lib/capacity.ts";
import { containersOf } from "../../lib/containers.ts";
import { thresholdsOf } from "../../lib/observability/alarm-options.ts";
import { checkedNumbers } from "../../lib/own-numbers.ts";
import { sharesOf } from "../../lib/profile.ts";
import { limitSettings, listSettings } from "../../lib/tenancy.ts";
import { type Route, routes } from "../../src/api/http/routes.ts";
import { metricTable } from "../../src/core/model/metrics.ts";
import { sources } from "./sources.ts";

const all = sources();

describe("every route is called by a test of test/api/http", () => {
  // Random requests call all routes, and look at none.
  const general = ["test/api/http/hostile.test.ts", "test/api/http/requests.ts"];
  const tests = all.filter(({ path }) => path.startsWith("test/api/http/") && !general.includes(path));

  /** A text that starts with the route's path, such as `/tasks/${id}/cancel?x=1`; a value in braces may be any expression. */
  const pathIn = ({ path }: Route): RegExp => {
    const steps = path.slice(1).split("/");
    const step = steps.map((name) => (name.startsWith("{") ? "(?:\\$\\{[^}]*\\}|[^/`\"'?$])+" : name));
    return new RegExp(`["'\`/]${step.join("/")}(?:["'\`?]|\\$\\{)`);
  };
  /** `ask` sends a GET, or a POST where there is a body. */
  const isCalledIn = (text: string, route: Route): boolean =>
    pathIn(route).test(text) && (/GET|POST/.test(route.method) || text.includes(`"${route.method}"`));

  test.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))("%s", (_, route) => {
    expect(tests.filter(({ text }) => isCalledIn(text, route)).map(({ path }) => path)).not.toEqual([]);
  });

  test("a route that no test calls is found", () => {
    const text = `ask(control, \`/tasks/\${id}/cancel\`, { method: "POST" }); ask(status, "/tasks?limit=2");`;
    const called = routes.filter((route) => isCalledIn(text, route)).map(({ method, path }) => `${method} ${path}`);
    expect(called).toEqual(["POST /tasks", "GET /tasks", "POST /tasks/{task_id}/cancel"]);
  });
});

describe("every path that the client and the console call is a route", () => {
  const callers = all.filter(({ path }) => /^(src\/client|console\/src)\//.test(path));
  // Pointers into the body of a request, such as `/task/input`, look like paths.
  const isPointer = ([step = ""]: readonly string[], file: string) =>
    file.startsWith("console/") && !routes.some(({ path }) => path.split("/").includes(step));

  /** Paths as their steps, without the query. A step with an expression is `*`. */
  const pathsIn = (text: string): string[][] =>
    [
      ...text
        .replaceAll(/\/\*[\s\S]*?\*\/|\/\/ .*$/gm, "")
        .replaceAll(/\$\{[^`]*?\}/g, "*")
        .matchAll(/["`]\/([\w*][\w*./-]*)(?:\?[^"`]*)?["`]/g),
    ].map(([, path = ""]) => path.split("/").map((step) => (step.includes("*") ? "*" : step)));
  const fits = (steps: readonly string[], own: readonly string[]) =>
    own.length === steps.length &&
    own.every((step, at) => step === steps[at] || step.startsWith("{") || steps[at] === "*");
  /** A path, or its end, such as `/cancel` of a task. */
  const isCalled = (steps: readonly string[]): boolean =>
    routes.some(({ path }) => {
      const own = path.slice(1).split("/");
      const end = own.slice(-steps.length);
      return fits(steps, own) || (end[0] === steps[0] && fits(steps, end));
    });
  const files = callers.flatMap(({ path, text }) => {
    const paths = pathsIn(text).filter((steps) => !isPointer(steps, path));
    return paths.length === 0 ? [] : [[path, paths] as const];
  });

  test("the search finds the paths", () => {
    expect(files.flatMap(([, paths]) => paths).length).toBeGreaterThan(120);
    expect(pathsIn(`get(path\`/tasks/\${id}/logs?limit=1\`); get("/taks"); // "/tasks"`)).toEqual([
      ["tasks", "*", "logs"],
      ["taks"],
    ]);
    expect([["tasks", "*", "lgos"], ["taks"]].filter(isCalled)).toEqual([]);
  });

  test.each(files)("%s", (_, paths) => {
    expect(paths.filter((steps) => !isCalled(steps))).toEqual([]);
  });
});

describe("every metric of the table is emitted somewhere", () => {
  const emitting = all.filter(({ path, text }) => path.startsWith("src/core/") && /metrics\??\.add\(/.test(text));

  test.each(Object.keys(metricTable))("%s", (name) => {
    expect(emitting.filter(({ text }) => text.includes(`"${name}"`)).map(({ path }) => path)).not.toEqual([]);
  });
});

describe("every numeric option of a deployment has a range check", () => {
  /** Gives one option a value. By the interface that declares it. */
  const given: Record<string, (name: string, value: unknown) => unknown> = {
    TierOptions: (name, value) => feedOf("high", { [name]: value }),
    ConcurrencyOptions: (name, value) => capacityOf(sharesOf("standard"), {}, checkedNumbers({ [name]: value })),
    ContainerOptions: (name, value) => containersOf({ [name]: value }),
    AlarmOptions: (name, value) => thresholdsOf({ [name]: name === "depth" ? { high: value } : value }),
    TenantLimits: (name, value) => limitSettings({ tenants: { [name]: value } }),
    LimitOptions: (_, value) => limitSettings({ depth: { high: value as number } }),
    ThrottleOptions: (name, value) => checkedNumbers({ throttle: { [name]: value } }),
    TaskPipelineProps: (name, value) =>
      name === "listShards" ? listSettings(value as number) : checkedNumbers({ [name]: value }),
  };
  // Of constructs that only this package creates, from options that are checked.
  const inner = ["PipelineFunctionProps", "Watch"];

  const options = globSync("lib/**/*.ts")
    .sort()
    .flatMap((path) => [...readFileSync(path, "utf8").matchAll(/export interface (\w+)[^{]*\{\n([\s\S]*?)\n\}/g)])
    .flatMap(([, of = "", body = ""]) =>
      [...body.matchAll(/^ {2}readonly (\w+)\?: (?:number|Partial<PerTier<number>>);/gm)].map(
        ([, name = ""]) => [of, name] as const,
      ),
    )
    .filter(([of]) => !inner.includes(of));

  test("the search finds the options", () => {
    expect(options.length).toBeGreaterThan(25);
    expect(options).toContainEqual(["AlarmOptions", "functionErrors"]);
  });

  test.each(options)("%s.%s refuses -5 and NaN", (of, name) => {
    const give = given[of];
    if (give === undefined) throw new Error(`no check of the options of ${of} is known here`);
    expect(() => give(name, -5)).toThrow();
    expect(() => give(name, Number.NaN)).toThrow();
  });
});

/** The tests' files. */
const testFiles = globSync(["test/**/*.ts", "examples/*/test/**/*.ts", "templates/**/*.ts"], {
  exclude: ["**/node_modules/**"],
})
  .sort()
  .map((path) => ({ path, text: readFileSync(path, "utf8") }));

describe("a test that waits says how long", () => {
  // Without a second argument it waits for a second, which a busy machine outlasts. `expect.poll` has the patience of the configuration.
  const waits = /\bvi\.(?:waitFor|waitUntil)\(/g;
  const files = testFiles.filter(({ text }) => text.search(waits) >= 0);

  test("the search finds the files", () => {
    expect(files.length).toBeGreaterThan(10);
  });

  test.each(files.map(({ path, text }) => [path, text] as const))("%s", (_, text) => {
    const calls = [...text.matchAll(waits)].length;
    expect([...text.matchAll(/,\s*(?:patience|patient|\{\s*timeout\b)/g)].length).toBeGreaterThanOrEqual(calls);
  });
});

test("no test ends before the patience of the configuration", () => {
  // As the last argument of a test, or as its options. The guide's example has Vitest's own patience for its hook.
  const limits =
    /^\s*\}, ?([\d_]+)\);$|^ *(?:test|describe|beforeAll)\b.*\{ timeout: ([\d_]+) \}|^ {2}\{ timeout: ([\d_]+) \},$/gm;
  const own = testFiles.filter(({ path }) => /^test\//.test(path) && !path.endsWith("testing-http-guide.test.ts"));
  const short = own.flatMap(({ path, text }) =>
    [...text.matchAll(limits)]
      .map(([, last, options, alone]) => Number((last ?? options ?? alone)?.replaceAll("_", "")))
      // Zero is no limit; it also ends a `reduce`.
      .filter((ms) => ms > 0 && ms < 300_000)
      .map((ms) => `${path}: ${ms}`),
  );
  expect(short).toEqual([]);
});

describe("a test that stands still for a process has a time limit", () => {
  // A synchronous wait stops the test's own timer as well: without a limit, a process that hangs stops the whole run.
  const waits = /\b(?:spawnSync|execFileSync|execSync)\(/g;
  const files = testFiles.filter(({ text }) => /from "node:child_process"/.test(text) && text.search(waits) >= 0);

  test("the search finds the files", () => {
    expect(files.length).toBeGreaterThan(15);
  });

  test.each(files.map(({ path, text }) => [path, text] as const))("%s", (_, text) => {
    const calls = [...text.matchAll(waits)].length;
    expect([...text.matchAll(/\btimeout: [\d_]+/g)].length).toBeGreaterThanOrEqual(calls);
  });
});

describe("a change that keeps a record for longer keeps what is beside it", () => {
  /** They set no later time of an open task's record: they withdraw or end a task, have the time of an entry, name a new input. */
  const others = [
    ...[
      "pipeline/submit/admit-task.ts",
      "extras/steps/checkpoints.ts",
      "pipeline/work/end-attempt.ts",
      "control/change-waiting.ts",
      "extras/unique/unique-call.ts",
    ],
    // It sets the time at which the retention of a task that has ended is over.
    "pipeline/end/follow-up.ts",
  ].map((path) => `src/core/${path}`);
  const setting = /\bpurge_at(?:: (?!\{)|, | \})/;
  const changing = all.filter(
    ({ path, text }) =>
      path.startsWith("src/core/") && text.includes("records.change(") && setting.test(text) && !others.includes(path),
  );

  test.each(changing.map(({ path, text }) => [path, text] as const))("%s", (_, text) => {
    expect(text).toMatch(/\bawait (extras\.keep(All|Ended)?|keepUnstarted)\(/);
  });

  test("the search finds the files", () => {
    expect(changing.map(({ path }) => path)).toContain("src/core/pipeline/work/settle.ts");
    expect(changing.length).toBeGreaterThan(6);
  });

  test("no place keeps one of these by hand, but an extra its own", () => {
    const byHand = /\b(?:uniqueKeys\.keep|steps\.keep|records\.keepPart|keepKey|keepInput|keepEntries)\(/;
    const own = [
      "limits/quota.ts",
      "pipeline/send/extras.ts",
      "pipeline/send/keep-entries.ts",
      "pipeline/work/attempt-tools.ts",
      "extras/steps/attempt-steps.ts",
      "extras/steps/signal.ts",
      "extras/unique/submit-unique.ts",
    ];
    const places = all
      .filter(({ path, text }) => path.startsWith("src/core/") && byHand.test(text))
      .map(({ path }) => path.slice("src/core/".length))
      .filter((path) => !path.startsWith("extras/") && !own.includes(path));
    expect(places).toEqual([]);
    expect(all.filter(({ path, text }) => path.startsWith("src/core/extras/") && byHand.test(text))).toHaveLength(5);
  });
});
