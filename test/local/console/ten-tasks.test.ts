import { readFileSync } from "node:fs";
import type { Locator, Page } from "playwright-core";
import { afterAll, expect, test } from "vitest";
import { describeConsole } from "../../support/console-tests.ts";
import { Client, expectStatus } from "../../support/http-client.ts";

/** Seconds of a practised person, by the keystroke-level model: to think, to point, to press, to type a character. */
const seconds = { think: 1.35, point: 1.1, press: 0.2, key: 0.28 };

/** The steps of a way: clicks, and texts with what takes one to their field. */
class Way {
  steps = 0;
  seconds = 0;
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  async click(target: Locator): Promise<void> {
    await target.click();
    this.#took(seconds.point + seconds.press);
  }

  /** A text in a field. */
  async type(field: Locator, text: string): Promise<void> {
    await field.fill(text);
    this.#took(seconds.point + seconds.press + text.length * seconds.key);
  }

  /** A text in the search from everywhere, which opens the first thing that it finds. */
  async find(text: string, found: string | RegExp): Promise<void> {
    await this.#page.keyboard.press("/");
    const search = this.#page.getByRole("dialog", { name: "Search everything" });
    await search.getByRole("combobox").waitFor();
    await this.#page.keyboard.type(text);
    await search.locator('[aria-selected="true"]').getByText(found).waitFor();
    await this.#page.keyboard.press("Enter");
    this.#took((text.length + 2) * seconds.key);
  }

  #took(more: number): void {
    this.steps++;
    this.seconds += seconds.think + more;
  }
}

/** Rows of the table of the shortest ways in the docs: what one wants, and the steps and seconds. */
const told = new Map(
  readFileSync("docs/console-tour.md", "utf8")
    .split("\n")
    .filter((line) => /^\| .* \| \d+ \| \d+ s \|/.test(line))
    .map((line) => line.split("|").map((cell) => cell.trim()))
    .map(([, wish = "", , steps, time]) => [wish, `${steps} steps, ${time}`]),
);

describeConsole("a person's ten tasks", {}, (here) => {
  let page: Page;
  const counted = new Map<string, string>();

  /** Walks a way from the overview, and counts it. */
  const walk = async (wish: string, go: (way: Way) => Promise<void>) => {
    await page.goto(`${here.url}/console#/overview`);
    await page.reload();
    await page.getByRole("heading", { name: "Overview", exact: true }).focus();
    const way = new Way(page);
    await go(way);
    counted.set(wish, `${way.steps} steps, ${Math.round(way.seconds)} s`);
  };
  const button = (name: string | RegExp) => page.getByRole("button", { name, exact: typeof name === "string" });
  const inDialog = (name: string | RegExp) => page.getByRole("dialog").getByRole("button", { name });
  const link = (name: string) =>
    page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name, exact: true });
  const later = (order: string) =>
    here.operator.submit("probe.echo", { value: order }, { delay_seconds: 7_200, tags: { order } });
  const fails = async (message: string, order: string) => {
    const task = await here.operator.submit("probe.fail", { kind: "permanent", message }, { tags: { order } });
    await here.operator.ended(task.task_id);
    return task.task_id;
  };

  test("a first task", { timeout: 300_000 }, async () => {
    page = await here.browser.open("dev-globex", "#/overview");
    // A new project has one type, which takes the input of its example.
    await page.route(/\/types(\?|$)/, async (route) => {
      const answer = await route.fetch();
      const { types, ...rest } = (await answer.json()) as { types: { name: string }[] };
      await route.fulfill({
        response: answer,
        json: { ...rest, types: types.filter(({ name }) => name === "probe.echo") },
      });
    });
    await page.getByRole("heading", { name: /^Nothing has run yet/ }).waitFor();
    await walk("see a first task run", async (way) => {
      await way.click(button(/^Submit \w+\.\w+$/));
      await page.locator('[aria-current="step"]').waitFor();
    });
    expect(counted.size).toBe(1);
    await page.context().close();
  });

  test("tasks that failed", { timeout: 300_000 }, async () => {
    page = await here.browser.open("dev-acme", "#/overview");
    await fails("the archive is full", "4711");
    for (const order of ["4712", "4713"]) await fails("no such account", order);
    await walk("see why order 4711 failed, and run it again", async (way) => {
      await way.find("4711", "order 4711");
      await page.getByRole("heading", { name: "Why it failed" }).waitFor();
      await way.click(button("Retry …"));
      await way.click(inDialog("Retry"));
      await page.getByRole("dialog").waitFor({ state: "detached" });
    });
    await walk("give a failed task another input", async (way) => {
      await way.find("4712", "order 4712");
      await way.click(button("Edit input and replay …"));
      await way.type(page.getByRole("dialog").getByRole("textbox").first(), '{ "kind": "conflict" }');
      await way.click(inDialog(/^Replay/));
      await page.getByRole("dialog").waitFor({ state: "detached" });
    });
    await walk("run all tasks again that failed with the costliest error", async (way) => {
      await way.click(link("Dead letters"));
      await way.click(button(/^Replay \d+ …/));
      await way.click(inDialog(/^Replay \d+/));
      await page
        .getByRole("dialog")
        .getByText(/The operation is/)
        .waitFor();
    });
  });

  test("a deployment", { timeout: 300_000 }, async () => {
    const deployed_at = new Date().toISOString();
    const times = [deployed_at, new Date(Date.now() - 86_400_000).toISOString()];
    // A local server has only its own start behind it.
    await page.route(/\/deployments(\?|$)/, (route) =>
      route.fulfill({
        json: {
          deployments: times.map((at) => ({ started_at: at, deployed_at: at, version: "1.0.0", rolled_back: false })),
        },
      }),
    );
    for (const order of ["4714", "4715"]) await fails("the amount is not a number", order);
    await walk("see what the last deployment broke", async (way) => {
      await way.click(page.getByRole("link", { name: "See what is new" }));
      await page.getByRole("heading", { name: "2 × probe.fail" }).waitFor();
      await page.getByText(/^Only what is new since the deployment of \d\d:\d\d\./).waitFor();
    });
    const groups = page.getByRole("navigation", { name: "Groups" }).getByRole("listitem");
    expect(await groups.count()).toBe(1);
    expect(await groups.getByText(/^since the deployment of \d\d:\d\d$/).count()).toBe(1);
    await page.getByRole("link", { name: /^all since the deployment of/ }).click();
    await page
      .getByText(/^order=4715$|order 4715|4715/)
      .first()
      .waitFor();
    expect(await page.getByText("4713").count()).toBe(0);
  });

  test("tasks that wait", { timeout: 300_000 }, async () => {
    for (const order of ["4801", "4802", "4803", "4804"]) await later(order);
    expectStatus(
      await here.operator.post("/tasks", {
        ...{ type: "probe.echo", input: { value: 1 }, delay_seconds: 7_200, unique: { key: "post-4711" } },
      }),
      202,
    );
    await walk("start a task at another time", async (way) => {
      await way.find("4801", "order 4801");
      await way.click(button("Reschedule …"));
      await way.type(page.getByLabel("Starts at (your clock)"), "2037-03-23T14:20");
      await way.click(inDialog("Move it"));
      await page.getByRole("dialog").waitFor({ state: "detached" });
    });
    await walk("open the task of the key `post-4711`", async (way) => {
      await way.find("~probe.echo:post-4711", /Open the task of the key/);
      await page.getByRole("heading", { name: "probe.echo" }).waitFor();
    });
    await walk("cancel three tasks", async (way) => {
      await way.click(link("Tasks"));
      const row = (order: string) => page.getByRole("row").filter({ hasText: `order=${order}` });
      for (const order of ["4802", "4803", "4804"]) await way.click(row(order).getByRole("checkbox"));
      await way.click(button("Cancel 3 …"));
      await way.type(page.getByLabel(/^Type 3 to confirm/), "3");
      await way.click(inDialog("Cancel 3"));
      await page
        .getByRole("dialog")
        .getByText(/The operation is/)
        .waitFor();
    });
  });

  test("all tenants", { timeout: 300_000 }, async () => {
    const operator = page;
    for (const tenant of ["acme", "globex", "globex"]) {
      const client = new Client(here.url, { token: `dev-${tenant}`, tenant, role: "operator" });
      expectStatus(await client.post("/types/probe.sleep/pause", {}), 200);
      await client.submit("probe.sleep", { ms: 1 });
    }
    page = await here.browser.open("dev-admin", "#/overview");
    await walk("see which tenant fills the queue", async (way) => {
      await way.click(link("Tasks"));
      const views = page.getByRole("navigation", { name: "Saved filters" });
      await way.click(views.getByRole("link", { name: "Waiting" }));
      await page.getByText("Of these: globex 2, acme 1").waitFor();
    });
    await page.context().close();
    page = operator;
  });

  test("schedules", { timeout: 300_000 }, async () => {
    const task = { type: "probe.echo", input: { value: 1 } };
    const nightly = { name: "nightly", cron: "0 2 * * *", task };
    expectStatus(await here.operator.post("/schedules", nightly), 201);
    await walk("see what runs on Sunday night", async (way) => {
      await way.click(link("Schedules"));
      await page.getByRole("heading", { name: "Next 7 days" }).waitFor();
      await page.getByText("nightly").first().waitFor();
    });
    await page.context().close();
  });

  test("the docs tell the same numbers", () => {
    expect(Object.fromEntries(counted)).toEqual(Object.fromEntries(told));
    expect(here.browser.problems).toEqual([]);
  });

  afterAll(() => {
    if (counted.size !== told.size) console.log(Object.fromEntries(counted));
  });
});
