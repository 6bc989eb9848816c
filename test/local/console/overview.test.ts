import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { describeConsole, expectClean } from "../../support/console-tests.ts";
import { expectStatus } from "../../support/http-client.ts";

/** A busy machine answers late. */
const patient = { timeout: 300_000 };

describeConsole("the overview", {}, (here) => {
  let page: Page;

  const clean = (name: string) => expectClean(page, name);
  const part = (name: string | RegExp): Locator =>
    page.locator("section.part").filter({ has: page.getByRole("heading", { name, level: 2 }) });
  const rows = (name: string): Locator => page.getByRole("region", { name, exact: true }).locator("tbody tr");
  const fails = async (message: string) => {
    const task = await here.operator.submit("probe.fail", { kind: "permanent", message });
    await here.operator.ended(task.task_id);
    return task.task_id;
  };

  test("nothing is wrong, and each part says so", { timeout: 300_000 }, async () => {
    page = await here.browser.open("dev-acme", "#/overview");
    await part("Nothing needs you").getByText("nothing paused").waitFor();
    await page.getByText("No dead letters. Tasks that fail for good come here.").waitFor();
    await page.getByText("No task yet. Tasks of acme come here as they are submitted.").waitFor();
    await page.getByText("No schedule has a next time.").waitFor();
    expect(await page.getByRole("heading", { name: /Tiers|Throughput/ }).count()).toBe(0);
    await page.getByRole("heading", { name: "Nothing has run yet. Submit the first task." }).waitFor();
    await clean("overview-quiet");
  });

  test("the first task is submitted by a button, and goes through its states in place", patient, async () => {
    const first = page.getByRole("region", { name: "Nothing has run yet. Submit the first task." });
    await first.getByRole("combobox", { name: /^Type/ }).selectOption("probe.echo");
    await first.getByLabel(/^value/).fill('"hello"');
    await first.getByRole("button", { name: "Terminal" }).click();
    await first.getByText(`npx offload submit probe.echo '{"value":"hello"}' --wait`).waitFor();
    await first.getByRole("button", { name: "Submit probe.echo" }).click();
    await first.locator('[aria-current="step"]').getByText("completed").waitFor();
    await first.getByText(/^after /).waitFor();
    await clean("first-task");
    await first.getByRole("button", { name: /A task that waits for you/ }).click();
    await first.getByText("waits: signal").waitFor();
    await first.getByRole("link", { name: "Open the task" }).click();
    await page.getByRole("button", { name: "Send signal …" }).waitFor();
    await page.goto(`${here.url}/console#/overview`);
    await rows("Newest tasks").filter({ hasText: "probe.wait" }).waitFor();
    expect(await first.count()).toBe(0);
  });

  test("a pause, a failure and a schedule appear by themselves", { timeout: 300_000 }, async () => {
    await page.getByText("live", { exact: true }).waitFor();
    const task = { type: "probe.echo", input: { value: 1 } };
    const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
    const later = { name: "later", cron: "0 3 1 * *", starts_at: inHours(1_000), task };
    const soon = { name: "soon", every_seconds: 3600, starts_at: inHours(2), task };
    for (const schedule of [later, soon]) expectStatus(await here.operator.post("/schedules", schedule), 201);
    expectStatus(await here.operator.post("/types/probe.sleep/pause", {}), 200);
    await fails("order 1001: the printer is on fire");
    await rows("Newest tasks").filter({ hasText: "1001" }).waitFor();
    await part(/need you/)
      .getByText("Paused")
      .waitFor();
    await expect
      .poll(() => rows("Schedules due next").locator("a").allTextContents(), patient)
      .toEqual(["soon", "later"]);
  });

  test("what fails most comes first, and leads to its dead letters and its newest task", {
    timeout: 300_000,
  }, async () => {
    await fails("no such account");
    const newest = await fails("order 1002: the printer is on fire");
    await page.reload();
    await expect.poll(() => rows("What fails most").count(), patient).toBe(2);
    const first = rows("What fails most").first();
    expect(await first.locator("td").first().textContent()).toBe("2");
    await first.getByText("order 1002: the printer is on fire").waitFor();
    const { groups } = (await here.operator.get("/dead-letters/groups")).json<{ groups: { fingerprint: string }[] }>();
    const links = await first.getByRole("link").evaluateAll((all) => all.map((link) => link.getAttribute("href")));
    expect(links).toEqual([
      `#/dead-letters?type=probe.fail&fingerprint=${groups[0]?.fingerprint}`,
      `#/tasks/${newest}`,
    ]);
    await clean("overview-operator");
    await page.context().close();
  });

  test("an admin sees the tiers, alarms, and what the deployment measured", { timeout: 300_000 }, async () => {
    expectStatus(await here.admin.post("/queues/low/pause", {}), 200);
    page = await here.browser.open("dev-admin");
    await part("4 things need you").getByText("tier low").waitFor();
    await rows("Tiers").filter({ hasText: "low" }).getByText("paused").waitFor();
    // Figures of the local server are of the present period.
    await part("Throughput and waits")
      .getByText(/1 completed, 3 failed/)
      .waitFor();
    await part("Throughput and waits").getByText("As a table").first().click();
    await page.getByRole("region", { name: /^Ended tasks/ }).waitFor();
    await expect.poll(() => page.locator(".plot svg:not(.marks)").count(), patient).toBe(2);
    await clean("overview-admin");
    await page.getByRole("combobox", { name: "Time" }).selectOption("12");
    await part("Throughput and waits")
      .getByText(/per 10 min/)
      .first()
      .waitFor();
    expect(page.url()).toContain("hours=12");
  });

  test("alarms come first, then what fails, breakers and pauses, and charts have their lines", {
    timeout: 300_000,
  }, async () => {
    await page.route(/\/(alarms|types|metrics|deployments)(\?|$)/, async (route) => {
      const answer = await route.fetch();
      const json = (await answer.json()) as Record<string, unknown>;
      const path = new URL(route.request().url()).pathname;
      await route.fulfill({ response: answer, json: { ...json, ...made(path, json) } });
    });
    await page.goto(`${here.url}/console#/overview`);
    await page.reload();
    await part("6 things need you").waitFor();
    const lines = await page.locator(".troubles .kind").allTextContents();
    expect(lines).toEqual(["Alarm", "Failing", "Failing", "Breaker open", "Paused", "Paused"]);
    await page.locator(".troubles").getByText("2 tasks failed for good").waitFor();
    await page.locator(".troubles").getByText("order 1002: the printer is on fire").waitFor();
    expect(await page.title()).toBe("6 need you · Overview · Offload local");
    await page.getByText("The oldest task has waited for an hour.").waitFor();
    await expect.poll(() => page.locator(".plot svg:not(.marks)").count(), patient).toBe(2);
    const line = page.locator(".plot path.good").first();
    expect((await line.getAttribute("d"))?.match(/L/g)).toHaveLength(59);
    expect(await line.evaluate((path) => getComputedStyle(path).stroke)).toMatch(/^rgb/);
    const plot = page.getByRole("img", { name: /Marked: deployments at \d\d:\d\d, \d\d:\d\d\./ });
    expect(await plot.count()).toBe(2);
    expect(await page.locator(".marks").first().locator("line").count()).toBe(2);
    await page
      .locator(".legend")
      .first()
      .getByText(/deployments at \d\d:\d\d, \d\d:\d\d$/)
      .waitFor();
    const since = /since the deployment of \d\d:\d\d$/;
    expect(await page.locator(".troubles").getByText(since).count()).toBe(2);
    expect(await rows("What fails most").getByRole("link", { name: since }).count()).toBe(2);
    await page.getByText("2 errors with 3 failed tasks are new since").waitFor();
    await clean("overview-charts");
  });

  test("a tier that refuses submits is named, with the time of its first refusal", { timeout: 300_000 }, async () => {
    await page.route(/\/queues(\?|$)/, async (route) => {
      const answer = await route.fetch();
      const { queues, ...rest } = (await answer.json()) as { queues: Record<string, object> };
      const critical = { ...queues.critical, refusing_since: new Date().toISOString() };
      await route.fulfill({ response: answer, json: { ...rest, queues: { ...queues, critical } } });
    });
    await page.reload();
    await part(/need you/)
      .getByText("it is full, and refuses submits")
      .waitFor();
    await rows("Tiers").filter({ hasText: "critical" }).getByText("full").waitFor();
    await clean("overview-full");
  });

  test("a part that cannot be read says why, and hides no other", { timeout: 300_000 }, async () => {
    const problem = { status: 503, detail: "The metrics are away.", code: "unavailable" };
    await page.route(/\/metrics\?/, (route) =>
      route.fulfill({ status: 503, contentType: "application/problem+json", json: problem }),
    );
    await page.reload();
    await part("Throughput and waits").getByRole("alert").getByText("The metrics are away.").waitFor();
    await rows("Tiers").first().waitFor();
    await rows("What fails most").first().waitFor();
    await clean("overview-part-fails");
    expect(here.browser.problems.filter((text) => !text.includes("503"))).toEqual([]);
    here.browser.problems.length = 0;
  });

  test("the browser has nothing to complain about, such as the CSP", () => {
    expect(here.browser.problems).toEqual([]);
  });
});

/** An alarm, an open breaker, two deployments, and figures of three hours: what the local server does not have. */
function made(path: string, json: Record<string, unknown>): Record<string, unknown> {
  const since = new Date(Date.now() - 3_600_000).toISOString();
  if (path === "/alarms") {
    const alarm = { name: "offload-age-high", state: "alarm", since };
    const fine = { name: "offload-errors", state: "ok", description: "Errors of functions.", since };
    return { alarms: [{ ...alarm, description: "The oldest task has waited for an hour." }, fine] };
  }
  if (path === "/types") {
    const breaker = {
      failures: 5,
      cool_down_seconds: 60,
      state: "open",
      failures_in_a_row: 7,
      open_until: since,
      open_since: since,
    };
    return {
      types: (json.types as { name: string }[]).map((type) =>
        type.name === "probe.fail" ? { ...type, breaker } : type,
      ),
    };
  }
  if (path === "/deployments") {
    const at = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
    const deployment = { version: "1.0.0", rolled_back: false };
    return {
      deployments: [20, 80].map((minutes) => ({ ...deployment, started_at: at(minutes), deployed_at: at(minutes) })),
    };
  }
  const { from, period_seconds } = json as { from: string; period_seconds: number };
  const points = (value: (index: number) => number) =>
    Array.from({ length: 60 }, (_, index) => [Date.parse(from) / 1_000 + index * period_seconds, value(index)]);
  const series = (name: string, tier: string, statistic: string, value: (index: number) => number) => ({
    ...{ name, tier, statistic },
    points: points(value),
  });
  return {
    series: [
      series("completed", "normal", "sum", (index) => 400 + Math.round(90 * Math.sin(index / 6))),
      series("completed", "low", "sum", (index) => 50 + (index % 7)),
      series("failed", "normal", "sum", (index) => (index > 45 ? 60 + index : 2)),
      series("queue_wait_ms", "normal", "p50", (index) => 120 + (index % 5) * 10),
      series("queue_wait_ms", "normal", "p95", (index) => 900 + (index > 40 ? index * 90 : 0)),
    ],
  };
}
