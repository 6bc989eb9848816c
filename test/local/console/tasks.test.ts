import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { pushNotice } from "../../../src/core/notify/push-notice.ts";
import { describeConsole, expectClean } from "../../support/console-tests.ts";
import { changeNotice } from "../../support/notices.ts";
import { principalOf, pushPorts } from "../../support/own-process-server.ts";
import { submitAll } from "../../support/submit-all.ts";

/** Types the number of a dialog that destroys something. */
const confirm = (dialog: Locator, number: number) => dialog.getByLabel(/^Type \d+ to confirm/).fill(String(number));

describeConsole("the list of tasks", {}, (here) => {
  let page: Page;

  const rows = () => page.getByRole("table", { name: "Tasks" }).getByRole("row");
  const clean = (name: string) => expectClean(page, name);
  const filter = (label: string) => page.getByRole("group", { name: "Filters" }).getByLabel(label);
  const openFilters = () => page.getByRole("button", { name: /^Filter/ }).click();

  test("an empty list says so; a new task appears by itself, and its end, too", { timeout: 300_000 }, async () => {
    page = await here.browser.open("dev-acme", "#/tasks");
    await page.getByText("No task matches.").waitFor();
    await page.getByText("live", { exact: true }).waitFor();
    await here.operator.submit("probe.echo", { value: "hello" }, { tags: { order: "1001" } });
    await rows().filter({ hasText: "order=1001" }).filter({ hasText: "completed" }).waitFor();
    await clean("tasks");
  });

  test("search and filters are the URL, which a colleague can open", { timeout: 300_000 }, async () => {
    await here.operator.submit(
      "probe.fail",
      { kind: "permanent", message: "the printer is on fire" },
      { tags: { order: "1002" } },
    );
    await page.keyboard.press("/");
    await page.keyboard.type("1002");
    await page.keyboard.press("Enter");
    await rows().filter({ hasText: "printer" }).waitFor();
    expect(await rows().count()).toBe(2);
    expect(page.url()).toContain("#/tasks?q=1002");
    const colleague = await here.browser.open("dev-acme", new URL(page.url()).hash);
    await colleague.getByRole("table", { name: "Tasks" }).getByText("order=1002").waitFor();
    await colleague.context().close();
    await page.getByRole("button", { name: "Clear" }).click();
    await openFilters();
    await filter("Status").selectOption("completed");
    await expect.poll(() => rows().filter({ hasText: "failed" }).count()).toBe(0);
    await rows().filter({ hasText: "order=1001" }).waitFor();
    await clean("tasks-filtered");
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "Remove: Status is completed" }).click();
    await rows().filter({ hasText: "printer" }).waitFor();
  });

  test("a filter is saved by its name, which is in the URL: a colleague sees the name, and may save it, too", {
    timeout: 300_000,
  }, async () => {
    const views = (of: Page) => of.getByRole("navigation", { name: "Saved filters" });
    await views(page).getByRole("link", { name: "Failed" }).click();
    await rows().filter({ hasText: "printer" }).waitFor();
    expect(await page.getByRole("button", { name: "+ Save this filter" }).count()).toBe(0);
    await openFilters();
    await filter("Tag").fill("order=1002");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "+ Save this filter" }).click();
    await page.getByLabel("Name of the filter").fill("Printer");
    await page.keyboard.press("Enter");
    await views(page).getByRole("link", { name: "Printer" }).waitFor();
    const { hash } = new URL(page.url());
    expect(hash).toContain("view=Printer");
    await views(page).getByRole("link", { name: "All" }).click();
    await views(page).getByRole("link", { name: "Printer" }).click();
    expect(new URL(page.url()).hash).toBe(hash);
    const colleague = await here.browser.open("dev-acme", hash);
    await views(colleague).locator('[aria-current="page"]').getByText("Printer").waitFor();
    await colleague.getByRole("button", { name: "+ Save this filter" }).waitFor();
    await colleague.context().close();
    await page.getByRole("button", { name: "Forget the filter Printer" }).click();
    await views(page).getByRole("link", { name: "All" }).click();
    expect(await views(page).getByRole("link", { name: "Printer" }).count()).toBe(0);
  });

  test("ticked tasks have buttons that say how many of them they would change", { timeout: 300_000 }, async () => {
    const later = await here.operator.submit(
      "probe.echo",
      { value: 1 },
      { delay_seconds: 3600, tags: { order: "1003" } },
    );
    await rows().filter({ hasText: "order=1003" }).getByRole("checkbox").check();
    await rows().filter({ hasText: "order=1001" }).getByRole("checkbox").check();
    await rows().filter({ hasText: "order=1002" }).getByRole("checkbox").check();
    const bar = page.getByRole("region", { name: "Selected tasks" });
    await bar.getByText("3 selected").waitFor();
    expect(await bar.getByRole("button").allTextContents()).toEqual(["Retry 1 …", "Run 1 now …", "Cancel 1 …", ""]);
    await clean("tasks-ticked");
    await bar.getByRole("button", { name: "Cancel 1 …" }).click();
    const dialog = page.getByRole("dialog", { name: "Cancel tasks" });
    await dialog.getByText("1 tasks match.").waitFor();
    await dialog.getByRole("button", { name: "Cancel 1" }).click();
    await dialog.getByText(/The operation is completed: 1 of 1/).waitFor({ timeout: 300_000 });
    await dialog.getByRole("button", { name: "Close" }).click();
    await bar.waitFor({ state: "detached" });
    expect((await here.operator.task(later.task_id)).status).toBe("cancelled");
  });

  test("tasks of Offload's own are hidden, and the page says so and shows them when asked", {
    timeout: 300_000,
  }, async () => {
    // The operation of the test before is one.
    await page.getByText("1 task of offload.* is hidden.").waitFor();
    expect(await rows().filter({ hasText: "offload." }).count()).toBe(0);
    await page.getByRole("link", { name: "Show them" }).click();
    await rows().filter({ hasText: "offload.cancel" }).waitFor();
    await page.goto(`${here.url}/console#/tasks`);
  });

  test("j, k and o go through the list, and ? shows the shortcuts", { timeout: 300_000 }, async () => {
    await rows().filter({ hasText: "order=1001" }).waitFor();
    await page.getByRole("heading", { name: "Tasks" }).focus();
    for (const key of ["j", "j", "k"]) await page.keyboard.press(key);
    expect(await page.locator('[aria-current="true"]').count()).toBe(1);
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Shortcuts" }).waitFor();
    await clean("shortcuts");
    await page.keyboard.press("Escape");
    await page.keyboard.press("o");
    await page.waitForURL(/#\/tasks\/[0-9a-f-]{36}/);
    await page.goBack();
  });

  test("the chosen task stays the same when a new one comes, and after Back; Enter opens it", {
    timeout: 300_000,
  }, async () => {
    const chosen = page.locator('[aria-current="true"] a');
    const place = await chosen.getAttribute("href");
    await here.operator.submit("probe.echo", { value: "new" }, { tags: { order: "1000" } });
    await rows().filter({ hasText: "order=1000" }).waitFor();
    expect(await chosen.getAttribute("href")).toBe(place);
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await expect.poll(() => chosen.evaluate((link) => link === document.activeElement)).toBe(true);
    await page.keyboard.press("Enter");
    await expect.poll(() => new URL(page.url()).hash).toBe(place);
    await page.goBack();
    await chosen.waitFor();
    expect(await chosen.getAttribute("href")).toBe(place);
  });

  test("a tag that is no name=value finds nothing, and nothing is changed by it", { timeout: 300_000 }, async () => {
    await openFilters();
    await filter("Tag").fill("order:1001");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("The tag order:1001 is no name=value.").waitFor();
    expect(await page.getByRole("button", { name: "Cancel all found …" }).isDisabled()).toBe(true);
    await page.goBack();
    await rows().filter({ hasText: "order=1001" }).waitFor();
    expect(await filter("Tag").inputValue()).toBe("");
    await page.getByRole("button", { name: "Done" }).click();
  });

  test("an operation says of which tenant and which tasks it is", { timeout: 300_000 }, async () => {
    await page.getByRole("searchbox", { name: "Search" }).fill("1002");
    await page.keyboard.press("Enter");
    await expect.poll(() => rows().count()).toBe(2);
    await page.getByRole("button", { name: "Retry all found …" }).click();
    const dialog = page.getByRole("dialog", { name: "Retry failed tasks" });
    await dialog.getByText("Of acme: what the search found").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByRole("searchbox", { name: "Search" }).fill("nothing has this");
    await page.keyboard.press("Enter");
    await page.getByText("No task matches.").waitFor();
    expect(await page.getByRole("button", { name: "Retry all found …" }).isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByRole("button", { name: "Retry all found …" }).click();
    await dialog.getByText("Of acme: all tasks: no filter is set").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
  });

  test("many tasks: a row for each, and only those in view in the page", { timeout: 300_000 }, async () => {
    const tasks = Array.from({ length: 150 }, (_, index) => ({
      type: "probe.echo",
      input: { value: 1 },
      delay_seconds: 3_600,
      tags: { number: String(index) },
    }));
    await submitAll(here.operator, tasks);
    await page.reload();
    await rows().nth(5).waitFor();
    const body = page.locator(".vtable .body");
    await expect
      .poll(
        async () => {
          await body.evaluate((element) => element.scrollTo(0, element.scrollHeight));
          return page.getByText(/^154 tasks$/).count();
        },
        { timeout: 300_000, interval: 250 },
      )
      .toBe(1);
    expect(await rows().count()).toBeLessThan(80);
    await clean("many-tasks");
  });

  test("the reader who has scrolled is told of new tasks, and nothing moves", { timeout: 300_000 }, async () => {
    const body = page.locator(".vtable .body");
    await body.evaluate((element) => element.scrollTo(0, 4_000));
    await expect.poll(() => body.evaluate((element) => element.scrollTop)).toBe(4_000);
    const inView = page.locator('[aria-rowindex="112"]');
    // Its tag names the task: the row's times go on.
    const shown = () => inView.locator(".tag").textContent();
    const before = await shown();
    expect(before).toMatch(/^number=/);
    await here.operator.submit("probe.echo", { value: 1 }, { tags: { order: "303" } });
    await page.getByRole("button", { name: /^\d+ new$/ }).waitFor();
    expect(await shown()).toBe(before);
    await page.getByRole("button", { name: /^\d+ new$/ }).click();
    await body.evaluate((element) => element.scrollTo(0, 0));
    await rows().filter({ hasText: "order=303" }).waitFor();
  });

  test("all that are found are cancelled, after the page has said how many", { timeout: 300_000 }, async () => {
    await page.getByRole("link", { name: "Later" }).click();
    await rows().filter({ hasText: "number=" }).first().waitFor();
    expect(await page.title()).toMatch(/^scheduled · Tasks · Offload/);
    await page.getByRole("button", { name: "Cancel all found …" }).click();
    const dialog = page.getByRole("dialog", { name: "Cancel tasks" });
    await dialog.getByText("150 tasks match.").waitFor();
    await dialog.getByText("Of acme: status = scheduled").waitFor();
    await clean("cancel");
    expect(await dialog.getByRole("button", { name: "Cancel 150" }).isDisabled()).toBe(true);
    await confirm(dialog, 150);
    await dialog.getByRole("button", { name: "Cancel 150" }).click();
    await dialog.getByRole("progressbar").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.reload();
    const operation = page.getByRole("region", { name: "Cancel tasks" });
    await operation.getByText(/The operation is completed: 150 of 150/).waitFor({ timeout: 300_000 });
    await clean("cancel-ended");
    await operation.getByRole("button", { name: "Dismiss" }).click();
    await operation.waitFor({ state: "detached" });
    await page.getByText("No task matches.").waitFor();
  });

  test("progress of a running task comes by push", { timeout: 300_000 }, async () => {
    await page.getByRole("navigation", { name: "Saved filters" }).getByRole("link", { name: "All" }).click();
    const { task_id } = await here.operator.submit("probe.sleep", { ms: 30_000 }, { tags: { order: "1004" } });
    await rows().filter({ hasText: "order=1004" }).filter({ hasText: "running" }).waitFor();
    await pushNotice(
      pushPorts(),
      changeNotice({ tenant_id: "acme", requested_by: principalOf("dev-acme"), task_id, progress: 42 }),
    );
    await rows().filter({ hasText: "42 %" }).waitFor();
  });

  test("the browser has nothing to complain about, such as the CSP", () => {
    expect(here.browser.problems).toEqual([]);
  });
});
