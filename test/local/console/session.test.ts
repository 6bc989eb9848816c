import { expect, test } from "vitest";
import { describeConsole, expectClean } from "../../support/console-tests.ts";

describeConsole("a session", {}, (here) => {
  test("a reload while the API is busy keeps the session", { timeout: 300_000 }, async () => {
    const page = await here.browser.open("dev-acme", "#/tasks?status=failed");
    await page.route("**/identity", (request) =>
      request.fulfill({ status: 503, json: { message: "Service Unavailable" } }),
    );
    await page.reload();
    await page.getByText("The console tries again every 5 seconds.").waitFor();
    await expectClean(page, "busy");
    await page.unroute("**/identity");
    await page.getByRole("heading", { name: "Tasks" }).waitFor();
    expect(new URL(page.url()).hash).toBe("#/tasks?status=failed");
    await page.context().close();
  });

  test("a start that fails is tried again", { timeout: 300_000 }, async () => {
    const page = await here.browser.open("dev-acme");
    await page.route("**/console/config.json", (request) =>
      request.fulfill({ status: 502, body: "<html>bad gateway" }),
    );
    await page.reload();
    await page.getByRole("alert").getByText("The deployment answers with the status 502.").waitFor();
    await page.unroute("**/console/config.json");
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    await page.context().close();
  });

  test("ages are right on a device whose clock is three hours behind", { timeout: 300_000 }, async () => {
    const { task_id } = await here.operator.submit("probe.echo", { value: 1 }, { tags: { order: "3001" } });
    await here.operator.ended(task_id);
    const page = await here.browser.open("dev-acme", "#/tasks");
    await page.addInitScript(() => {
      const real = Date.now.bind(Date);
      Date.now = () => real() - 3 * 3_600_000;
    });
    await page.reload();
    const row = page.getByRole("row").filter({ hasText: "order=3001" });
    await row.getByText(/^(now|\d+ s ago)$/).waitFor();
    expect(await row.textContent()).not.toContain("in ");
    await page.context().close();
  });

  test("after signing out, the next user of the tab finds nothing of the last one", { timeout: 300_000 }, async () => {
    const page = await here.browser.open("dev-acme", "#/tasks?q=secret");
    await page.evaluate(() => sessionStorage.setItem("offload.operations", "[]"));
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(page.url()).toBe(`${here.url}/console`);
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
    await page.context().close();
  });

  test("a key that is revoked ends the session, and the page says why", { timeout: 300_000 }, async () => {
    const page = await here.browser.open("dev-acme", "#/tasks?status=failed");
    await page.route(/\/tasks\?/, (request) => request.fulfill({ status: 401, json: { message: "Unauthorized" } }));
    await page.getByText("Your key or token is no longer valid. Sign in again.").waitFor();
    expect(new URL(page.url()).hash).toBe("#/tasks?status=failed");
    await page.context().close();
  });

  test("an admin reads each part of another tenant's task", { timeout: 300_000 }, async () => {
    const { task_id } = await here.operator.submit("probe.echo", {});
    await here.operator.ended(task_id);
    const page = await here.browser.open("dev-admin", `#/tasks/${task_id}?tenant=acme`);
    await page.getByRole("heading", { name: "Log", exact: true }).waitFor();
    await expectClean(page, "task-of-another-tenant");
    expect(await page.locator("main").getByText("invalid_input").count()).toBe(0);
    await page.context().close();
  });

  test("an admin who empties the tenant's field on the overview is back at all tenants; g keeps a chosen one", {
    timeout: 300_000,
  }, async () => {
    const page = await here.browser.open("dev-admin", "#/tasks?tenant=globex");
    await page.getByRole("heading", { name: "Tasks" }).focus();
    await page.keyboard.press("g");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(new URL(page.url()).hash).toBe("#/?tenant=globex");
    const field = page.getByLabel("Tenant, now globex");
    await field.fill("");
    await field.press("Enter");
    await page.getByLabel("Tenant, now all tenants").waitFor();
    await page.goBack();
    await page.getByLabel("Tenant, now globex").waitFor();
    await page.context().close();
  });

  test("the browser has nothing to complain about, such as the CSP", () => {
    expect(here.browser.problems).toEqual([]);
  });
});
