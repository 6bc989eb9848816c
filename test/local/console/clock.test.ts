import { expect, test } from "vitest";
import { describeConsole, expectClean } from "../../support/console-tests.ts";

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
