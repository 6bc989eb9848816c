import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { describeConsole, expectClean } from "../../support/console-tests.ts";
import { expectStatus } from "../../support/http-client.ts";

describeConsole("the search from everywhere", {}, (here) => {
  let page: Page;

  const palette = () => page.getByRole("dialog", { name: "Search everything" });
  const chosen = () => palette().locator('[role="option"][aria-selected="true"]');

  test("it finds a task by a tag, and Enter opens it", { timeout: 300_000 }, async () => {
    const tags = { order: "4711" };
    const { task_id } = await here.operator.submit(
      "probe.fail",
      { kind: "permanent", message: "no archive" },
      { tags },
    );
    await here.operator.ended(task_id);
    page = await here.browser.open("dev-acme", "#/schedules");
    await page.getByRole("heading", { name: "Schedules" }).focus();
    await page.keyboard.press("/");
    await palette().getByRole("combobox").waitFor();
    expect(await chosen().textContent()).toContain("Overview");
    await expectClean(page, "palette");
    await page.keyboard.type("4711");
    await palette()
      .getByRole("option", { name: /probe\.fail/ })
      .first()
      .waitFor();
    expect(await chosen().textContent()).toContain("order 4711");
    await expectClean(page, "palette-found");
    await page.keyboard.press("Enter");
    await page.waitForURL(new RegExp(`#/tasks/${task_id}`));
    await palette().waitFor({ state: "detached" });
    await page.getByRole("heading", { name: "Why it failed" }).waitFor();
  });

  test("arrows choose, Escape closes it, and the focus is where it was", { timeout: 300_000 }, async () => {
    const button = page.getByRole("button", { name: "Search everything" });
    await button.click();
    await page.keyboard.type("le");
    await expect.poll(() => palette().getByRole("option").first().textContent()).toContain("Dead letters");
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => chosen().textContent()).toContain("Schedules");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    await expect.poll(() => chosen().textContent()).toContain("New schedule");
    await page.keyboard.press("Escape");
    await palette().waitFor({ state: "detached" });
    await expect.poll(() => button.evaluate((element) => element === document.activeElement)).toBe(true);
    // It is there before the next event, so that no key is lost.
    const focused = await button.evaluate(async (element) => {
      (element as HTMLElement).click();
      await Promise.resolve();
      return document.activeElement?.getAttribute("role");
    });
    expect(focused).toBe("combobox");
    await page.keyboard.press("Escape");
    await palette().waitFor({ state: "detached" });
  });

  test("Ctrl+K opens it from a field; hostile text is text; a key opens its task", { timeout: 300_000 }, async () => {
    await page.goto(`${here.url}/console#/tasks`);
    await page.getByRole("searchbox", { name: "Search" }).focus();
    await page.keyboard.press("Control+k");
    await palette().getByRole("combobox").waitFor();
    // The answer of a search draws the field again, which keeps the space that was typed last.
    const answered = page.waitForResponse((response) => response.url().includes("q=%3Cimg&"));
    await page.keyboard.type("<img ");
    await (await answered).finished();
    await page.keyboard.type("src=x onerror=alert(1)>");
    await palette().getByText("Show all tasks with “<img src=x onerror=alert(1)>”").waitFor();
    expect(await palette().locator("img").count()).toBe(0);
    await palette().getByRole("combobox").fill("~probe.echo:nothing");
    await expect.poll(() => chosen().textContent()).toContain("Open the task of the key");
    await page.keyboard.press("Enter");
    await page.waitForURL(/#\/tasks\/~probe\.echo%3Anothing/);
    expect(here.browser.problems).toEqual([]);
    await page.context().close();
  });

  test("a viewer's has nothing that changes", { timeout: 300_000 }, async () => {
    const made = await here.admin.post("/keys", { role: "viewer" });
    const { key } = expectStatus(made, 201).json<{ key: string }>();
    page = await here.browser.open(key, "#/overview");
    await page.keyboard.press("/");
    await palette().getByRole("combobox").waitFor();
    await page.keyboard.type("sche");
    await palette().getByRole("option", { name: "Schedules", exact: true }).waitFor();
    expect(await palette().getByRole("option", { name: "New schedule" }).count()).toBe(0);
    await page.context().close();
  });
});
