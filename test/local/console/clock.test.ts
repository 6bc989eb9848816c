import { expect, test } from "vitest";
import { describeConsole, expectClean } from "../../support/console-tests.ts";
import { expectStatus } from "../../support/http-client.ts";

describeConsole("the console's clock", {}, (here) => {
  test("it moves the server's time to when a task goes on, and by days", { timeout: 300_000 }, async () => {
    const delayed = await here.operator.submit("probe.echo", { value: "tomorrow" }, { delay_seconds: 86_400 });
    const page = await here.browser.open("dev-acme", `#/tasks/${delayed.task_id}`);
    await page.getByRole("button", { name: "Clock", exact: true }).waitFor();
    await page.getByRole("button", { name: "Move the clock until it goes on …" }).click();
    await page.getByRole("dialog", { name: "Move the server's clock" }).waitFor();
    await expectClean(page, "clock-of-task");
    await page.getByRole("button", { name: "Move it forward" }).click();
    await page.getByText(/^The clock moved: .*1 completed/).waitFor();
    expect((await here.operator.ended(delayed.task_id)).status).toBe("completed");

    await page.getByRole("button", { name: /^Clock (1 d|24 h|23 h 59 min) .*ahead/ }).click();
    const dialog = page.getByRole("dialog", { name: "The server's clock" });
    await dialog.getByLabel("By, or to").fill("yesterday");
    expect(await dialog.getByRole("button", { name: "Move it forward" }).isDisabled()).toBe(true);
    await dialog.getByLabel("By, or to").fill("1d 12h");
    await expectClean(page, "clock");
    await dialog.getByRole("button", { name: "Move it forward" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: /^Clock 2 d 1[12] h ahead/ }).waitFor();
    await page.context().close();
  });

  test("the week ahead of all schedules has the change of clocks in its place, and what it skips", {
    timeout: 300_000,
  }, async () => {
    // The Thursday before the last Sunday of a March, on which the clocks of Berlin go forward.
    const year = new Date().getUTCFullYear() + 1;
    const last = new Date(Date.UTC(year, 3, 0));
    const sunday = new Date(Date.UTC(year, 2, 31 - last.getUTCDay()));
    const at = new Date(sunday.getTime() - 3 * 86_400_000 + 36_000_000).toISOString();
    expectStatus(await here.operator.post("/_local/clock", { at }), 200);
    const task = { type: "probe.echo", input: { value: 1 } };
    const rules = { report: "30 2 * * *", early: "0 1 * * *", often: "*/5 * * * *" };
    for (const [name, cron] of Object.entries(rules)) {
      expectStatus(await here.operator.post("/schedules", { name, cron, timezone: "Europe/Berlin", task }), 201);
    }
    const page = await here.browser.open("dev-acme", "#/schedules", { timezoneId: "Europe/Berlin", locale: "en-US" });
    const days = page.getByRole("list", { name: "Days in Europe/Berlin" }).locator(":scope > li");
    await days.nth(3).getByText("23 h").waitFor();
    expect(await days.nth(3).locator("li").allTextContents()).toEqual([
      ...["01:00 early", " clocks go forward from 02:00 to 03:00", "02:30 report is skipped"],
    ]);
    expect(await days.nth(2).locator("li").allTextContents()).toEqual(["01:00 early", "02:30 report"]);
    await page.getByRole("list", { name: "Times that will be skipped" }).getByText("report").waitFor();
    await page
      .getByText(/^often/)
      .first()
      .waitFor();
    await expectClean(page, "schedules-week");
    await page.getByRole("button", { name: "UTC" }).click();
    await page.getByRole("list", { name: "Days in UTC" }).getByText("00:00 early").first().waitFor();
    await page.getByRole("button", { name: "Week after" }).click();
    await page.getByRole("heading", { name: /^7 days from/ }).waitFor();
    await page.context().close();
    for (const { schedule_id } of (await here.operator.get("/schedules")).json<{
      schedules: { schedule_id: string }[];
    }>().schedules) {
      await here.operator.post(`/schedules/${schedule_id}/pause`, {});
    }
  });

  test("ages are by the moved time", { timeout: 300_000 }, async () => {
    const { task_id } = await here.operator.submit("probe.echo", { value: "now" });
    await here.operator.ended(task_id);
    const page = await here.browser.open("dev-acme", "#/tasks");
    await page
      .getByRole("table", { name: "Tasks" })
      .getByText(/^(now|\d+ s ago)$/)
      .first()
      .waitFor();
    await page.context().close();
  });
});
