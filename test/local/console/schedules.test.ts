import type { Locator, Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { describeConsole, expectClean } from "../../support/console-tests.ts";
import { expectStatus } from "../../support/http-client.ts";

const year = new Date().getUTCFullYear() + 1;

/** Day of a month's last Sunday, on which the clocks of Berlin change. */
const lastSunday = (month: number): number => {
  const last = new Date(Date.UTC(year, month, 0));
  return last.getUTCDate() - last.getUTCDay();
};
const forward = lastSunday(3);
const back = lastSunday(10);

const utc = (month: number, day: number, hour: number, minute: number): string =>
  new Date(Date.UTC(year, month - 1, day, hour, minute)).toISOString();

/** A time as the console writes it, of a local time that is written as if it were UTC. */
const words = (iso: string): string => {
  const day = new Date(iso).toLocaleDateString("en-US", {
    ...{ weekday: "short", year: "numeric", month: "short", day: "numeric", timeZone: "UTC" },
  });
  return `${day}, ${iso.slice(11, 16)}`;
};

/** A busy machine answers late. */
const patient = { timeout: 300_000 };

/** The list's second page needs more schedules than a tenant has by default. */
const settings = { OFFLOAD_LIMITS: JSON.stringify({ default: { schedules: 200 } }) };

describeConsole("schedules", settings, (here) => {
  let page: Page;

  beforeAll(async () => {
    page = await here.browser.open("dev-acme", "#/schedules", { timezoneId: "America/New_York", locale: "en-US" });
  }, 300_000);

  const clean = (name: string) => expectClean(page, name);
  const preview = (): Locator => page.getByRole("region", { name: "Preview of the next times" });
  const nextTimes = (): Locator => page.getByRole("region", { name: "Next times of the schedule" });
  const faultsOf = (label: string): Locator =>
    page.locator(".field.faulty", { has: page.getByLabel(label) }).locator(".field-faults");
  const instants = (of: Locator): Promise<(string | null)[]> =>
    of.locator("time").evaluateAll((times) => times.map((time) => time.getAttribute("datetime")));
  const day = (number: number): Locator =>
    page.locator(".calendar td").filter({ has: page.getByText(new RegExp(`^${number}\\b`)) });

  test("a tenant without schedules is told so; a rule that is no cron has its fault at the field", {
    timeout: 300_000,
  }, async () => {
    await page.getByText("acme has no schedule.").waitFor();
    await clean("schedules-none");
    await page.getByRole("link", { name: "New schedule" }).click();
    await preview().waitFor();
    expect(await page.getByLabel("Time zone").inputValue()).toBe("America/New_York");
    here.browser.problems.length = 0;
    await page.getByLabel("Cron").fill("0 0 1 * MON");
    await faultsOf("Cron").getByText("create two schedules").waitFor();
    expect(await page.getByLabel("Cron").getAttribute("aria-invalid")).toBe("true");
    await clean("schedules-fault");
    // The browser itself notes each answer of 422.
    expect(here.browser.problems.filter((text) => !text.includes("422"))).toEqual([]);
    here.browser.problems.length = 0;
  });

  test("the preview shows in both zones that spring has no 02:30, and autumn only one", {
    timeout: 300_000,
  }, async () => {
    await page.getByLabel("Name", { exact: true }).fill("nightly report");
    await page.getByLabel("Cron").fill("30 2 * * *");
    await page.getByLabel("Time zone").selectOption("Europe/Berlin");
    await page.getByText("at 02:30, every day").waitFor();
    await page.getByLabel("Starts", { exact: true }).fill(`${year}-10-${back - 2}T00:00`);
    const autumn = [utc(10, back - 2, 0, 30), utc(10, back - 1, 0, 30), utc(10, back, 0, 30), utc(10, back + 1, 1, 30)];
    await expect.poll(async () => (await instants(preview())).slice(0, 4), patient).toEqual(autumn);
    await preview().getByText("02:30 comes twice, and submits once").waitFor();

    await page.getByLabel("Starts", { exact: true }).fill(`${year}-03-${forward - 2}T00:00`);
    const spring = [utc(3, forward - 2, 1, 30), utc(3, forward - 1, 1, 30), utc(3, forward + 1, 0, 30)];
    await expect.poll(async () => (await instants(preview())).slice(0, 3), patient).toEqual(spring);
    const change = preview().getByText(
      /clocks go forward from 02:00 to 03:00: 02:30 does not exist, and submits nothing/,
    );
    expect(await change.textContent()).toContain(words(utc(3, forward, 0, 0)).slice(0, -7));
    const after = preview().getByRole("row", { name: words(utc(3, forward + 1, 2, 30)) });
    // Berlin is 2 hours ahead of UTC then, New York 4 behind.
    expect(await after.textContent()).toContain(words(utc(3, forward, 20, 30)));
    await clean("schedules-new");
  });

  test("it is created, with the input of its type; the API's refusal of the input is at the input", {
    timeout: 300_000,
  }, async () => {
    await page.getByLabel("Type", { exact: true }).selectOption("probe.sleep");
    await page.getByLabel("Input as JSON").fill('{ "ms": -1 }');
    await page.getByLabel("Tags, one a line").fill("team=reports");
    await page.getByRole("button", { name: "Create" }).click();
    await faultsOf("Input as JSON").getByText("/ms").waitFor();
    expect(here.browser.problems.filter((text) => !text.includes("422"))).toEqual([]);
    here.browser.problems.length = 0;
    await page.getByLabel("Input as JSON").fill('{ "ms": 1 }');
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "Schedule nightly report" }).waitFor();
    const { schedules } = (await here.operator.get("/schedules")).json<{ schedules: Record<string, unknown>[] }>();
    expect(schedules).toMatchObject([
      {
        ...{ name: "nightly report", cron: "30 2 * * *", timezone: "Europe/Berlin" },
        starts_at: utc(3, forward - 3, 23, 0),
        task: { type: "probe.sleep", input: { ms: 1 }, tags: { team: "reports" } },
      },
    ]);
  });

  test("its page has the next 20 times, and a calendar of each month", { timeout: 300_000 }, async () => {
    await expect.poll(async () => (await instants(nextTimes())).length, patient).toBe(20);
    expect((await instants(nextTimes())).slice(1, 3)).toEqual([utc(3, forward - 1, 1, 30), utc(3, forward + 1, 0, 30)]);
    await page.goto(`${page.url()}?month=${year}-03`);
    await page.getByText(`March ${year}, in Europe/Berlin: ${31 - forward + 2} times from now on`).waitFor();
    expect(await day(forward - 1).textContent()).toContain("02:30");
    expect(await day(forward).textContent()).toContain("clocks change");
    expect(await day(forward).textContent()).not.toContain("02:30");
    expect(await day(forward - 3).textContent()).not.toContain("02:30");
    await clean("schedule");
    await page.getByRole("button", { name: "Next month" }).click();
    await page.getByText(`April ${year}, in Europe/Berlin: 30 times from now on`).waitFor();
    await page.getByRole("button", { name: "Previous month" }).click();
    await page.getByText(`March ${year}, in Europe/Berlin`).waitFor();
  });

  test("it is run now, paused, resumed and changed", { timeout: 300_000 }, async () => {
    await page.getByRole("button", { name: "Run now" }).click();
    const link = page.getByRole("link", { name: "open the task" });
    const taskId = (await link.getAttribute("href"))?.split("/").at(-1) ?? "";
    expect(await here.operator.ended(taskId)).toMatchObject({ status: "completed", tags: { team: "reports" } });
    const runs = page.locator("section.part").filter({ has: page.getByRole("heading", { name: "Last runs" }) });
    await runs.getByText("completed").waitFor();
    const run = runs.getByRole("link", { name: /by hand$/ });
    expect([await run.count(), await run.getAttribute("href")]).toEqual([1, `#/tasks/${taskId}`]);
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("Paused: no time submits anything").waitFor();
    await clean("schedule-paused");
    await page.getByRole("button", { name: "Resume" }).click();
    await nextTimes().waitFor();
    await page.getByRole("button", { name: "Change …" }).click();
    await page.getByLabel("Rule", { exact: true }).selectOption("every");
    await page.getByLabel("Minutes between two times").fill("15");
    await page.getByLabel("Starts", { exact: true }).fill("");
    await page.getByText("every 15 minutes").waitFor();
    await clean("schedule-change");
    await page.getByRole("button", { name: "Change", exact: true }).click();
    await nextTimes().waitFor();
    const { schedules } = (await here.operator.get("/schedules")).json<{ schedules: Record<string, unknown>[] }>();
    expect(schedules).toMatchObject([{ cron: null, every_seconds: 900, starts_at: null }]);
  });

  test("a day with many times has the first ones, and the number of the others", { timeout: 300_000 }, async () => {
    await page.goto(`${page.url().replace(/\?.*/, "")}?month=${year}-10`);
    await page.getByText(`October ${year}, in Europe/Berlin`).waitFor();
    // 96 times a day, and four more where an hour comes twice.
    expect(await day(back - 1).textContent()).toContain("+93");
    expect(await day(back).textContent()).toContain("+97");
  });

  test("the list has each schedule with its rule in words and its times in both zones", {
    timeout: 300_000,
  }, async () => {
    const task = { type: "probe.echo", input: { value: 1 } };
    const hostile = `<img src=x onerror="window.attacked=1">\u202egpj.exe`;
    for (const schedule of [
      { name: "weekday", cron: "*/15 9-17 * * MON-FRI", timezone: "Europe/Berlin", task },
      { name: hostile, every_seconds: 7200, enabled: false, task },
    ]) {
      expectStatus(await here.operator.post("/schedules", schedule), 201);
    }
    await page.getByRole("link", { name: "Schedules" }).click();
    const weekday = page.getByRole("row", { name: /weekday/ });
    await weekday.getByText("every 15 minutes from 09:00 to 17:59, Monday to Friday").waitFor();
    await weekday.getByText("in Europe/Berlin").waitFor();
    await page
      .getByRole("row", { name: /img src=x/ })
      .getByText("paused")
      .waitFor();
    await page
      .getByRole("row", { name: /nightly/ })
      .getByRole("link", { name: /ago|now/ })
      .waitFor();
    expect(await page.evaluate(() => "attacked" in window)).toBe(false);
    await clean("schedules");
  });

  test("a list of more than a hundred is read page by page", { timeout: 900_000 }, async () => {
    const task = { type: "probe.echo", input: { value: 1 } };
    const create = (name: string) =>
      here.operator.post("/schedules", { name, every_seconds: 86_400, enabled: false, task });
    for (let first = 0; first < 99; first += 11) {
      const answers = await Promise.all(Array.from({ length: 11 }, (_, index) => create(`many ${first + index}`)));
      for (const answer of answers) expectStatus(answer, 201);
    }
    await page.reload();
    await page.getByText("100 so far").waitFor();
    await page.getByRole("button", { name: "More" }).click();
    await expect
      .poll(() => page.getByRole("region", { name: "Schedules" }).locator("tbody tr").count(), patient)
      .toBe(102);
    expect(await page.getByRole("button", { name: "More" }).count()).toBe(0);
  });

  test("it is deleted, after a question", { timeout: 300_000 }, async () => {
    await page.getByRole("region", { name: "Schedules" }).getByRole("link", { name: "nightly report" }).click();
    await page.getByRole("button", { name: "Delete …" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete the schedule" });
    await clean("schedule-delete");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("row", { name: /weekday/ }).waitFor();
    expect(await page.getByRole("row", { name: /nightly/ }).count()).toBe(0);
  });

  test("the browser has nothing to complain about, such as the CSP", () => {
    expect(here.browser.problems).toEqual([]);
  });
});
