import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { describeConsole, expectClean } from "../../support/console-tests.ts";
import { Client } from "../../support/http-client.ts";

describeConsole("the pages for admins", {}, (here) => {
  let page: Page;

  const clean = (name: string) => expectClean(page, name);

  test("nobody is signed in: the page says how; a wrong key is refused in plain words", {
    timeout: 300_000,
  }, async () => {
    page = await here.browser.open(undefined);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await clean("sign-in");
    await page.getByLabel("API key").fill("ofl_wrong");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("alert").getByText("401").waitFor();
    here.browser.problems.length = 0;
    await page.context().close();
  });

  test("a link that was used says so, and how to get in", { timeout: 300_000 }, async () => {
    page = await here.browser.open(undefined, "#token=used");
    await page.getByRole("status").getByText("This link was used").waitFor();
    expect(page.url()).not.toContain("used");
    await page.context().close();
  });

  test("a link of the command `console` signs in with its key, which leaves the address; a wrong key is said", {
    timeout: 300_000,
  }, async () => {
    page = await here.browser.open(undefined, "#key=dev-admin&tenant=globex");
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    await page.getByText(/^Signed in by a link, as .+ of acme\.$/).waitFor();
    await page.getByLabel("Tenant, now globex").waitFor();
    expect(page.url()).not.toContain("dev-admin");
    await page.context().close();
    page = await here.browser.open(undefined, "#key=ofl_wrong");
    await page.getByText("The key of this link is not valid.").waitFor();
    expect(page.url()).not.toContain("ofl_wrong");
    await page.context().close();
  });

  test("a submitter has only the pages of its role", { timeout: 300_000 }, async () => {
    page = await here.browser.open("dev-acme-sub");
    const links = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
    expect(await links.allTextContents()).toEqual(["Tasks", "Submit"]);
    await page.goto(`${here.url}/console#/keys`);
    await page.getByRole("heading", { name: "No such page" }).waitFor();
    await page.context().close();
  });

  test("the token is in the session storage, and another window has to sign in", { timeout: 300_000 }, async () => {
    page = await here.browser.open("dev-admin");
    expect(await page.evaluate(() => [sessionStorage.length, localStorage.getItem("offload.token")])).toEqual([
      1,
      null,
    ]);
    await page.reload();
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    const other = await page.context().newPage();
    await other.goto(`${here.url}/console`);
    await other.getByRole("heading", { name: "Sign in" }).waitFor();
    await other.close();
  });

  test("a key is created for another tenant, used, and revoked", { timeout: 300_000 }, async () => {
    await page.goto(`${here.url}/console#/keys`);
    await page.getByText(/^No key of acme is stored. You are signed in as local-/).waitFor();
    await clean("keys-none");
    await page.goto(`${here.url}/console#/keys?tenant=globex`);
    await page.getByRole("heading", { name: "Keys of globex" }).waitFor();
    await page.getByRole("button", { name: "Create a key …" }).click();
    await page.getByLabel("Role").selectOption("operator");
    await page.getByLabel("Label").fill("night shift");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "The new key" });
    const key = (await dialog.locator("pre").textContent()) ?? "";
    await dialog.getByRole("button", { name: "I have copied it" }).click();
    expect(key).toMatch(/^ofl_/);
    const globex = new Client(here.url, { token: key, tenant: "globex", role: "operator" });
    expect((await globex.get("/identity")).json()).toMatchObject({ tenant_id: "globex", role: "operator" });
    const row = page.getByRole("row", { name: /night shift/ });
    await clean("keys");
    await row.getByRole("button", { name: /Revoke/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
    await row.getByText("revoked").waitFor();
  });

  test("limits of a tenant are changed, and a tenant is paused", { timeout: 300_000 }, async () => {
    await page.goto(`${here.url}/console#/tenants`);
    await page.getByRole("button", { name: "Limits of globex …" }).click();
    await page.getByLabel(/Submits per second/).fill("20");
    await clean("limits");
    await page.getByRole("button", { name: "Change", exact: true }).click();
    await page.getByRole("button", { name: "Limits of globex …" }).click();
    await page.getByLabel(/Submits per second, in force: 20/).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: "Pause globex …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Pause", exact: true }).click();
    await page.getByRole("button", { name: "Resume globex …" }).waitFor();
    await clean("tenants");
    await page.getByRole("button", { name: "Resume globex …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Resume", exact: true }).click();
    await page.getByRole("button", { name: "Pause globex …" }).waitFor();
  });

  test("the tenants are offered by name, and a name that nobody has is said to be wrong", {
    timeout: 300_000,
  }, async () => {
    await page.goto(`${here.url}/console#/?tenant=globexx`);
    await page.getByText("No tenant globexx has a key or has submitted a task. Is the name right?").waitFor();
    await clean("unknown-tenant");
    const choice = page.getByRole("combobox", { name: "Tenant, now globexx" });
    const offered = page.locator("#tenant-names option");
    expect(await offered.evaluateAll((options) => options.map((option) => option.getAttribute("value")))).toEqual(
      expect.arrayContaining(["acme", "globex"]),
    );
    await choice.fill("globex");
    await choice.press("Enter");
    await page.getByRole("combobox", { name: "Tenant, now globex" }).waitFor();
    await page.getByText(/^No tenant/).waitFor({ state: "detached" });
  });

  test("the overview opens for all tenants, and its lists lead to what is behind them", {
    timeout: 300_000,
  }, async () => {
    const globex = new Client(here.url, { token: "dev-globex", tenant: "globex", role: "operator" });
    const failing = await globex.submit("probe.fail", { kind: "permanent", message: "of globex" });
    await globex.ended(failing.task_id);
    const admin = await here.browser.open("dev-admin", "#/");
    await admin.getByLabel("Tenant, now all tenants").waitFor();
    await admin.getByRole("heading", { name: /needs? you/ }).waitFor();
    await admin.getByRole("region", { name: "What fails most" }).getByText("probe.fail").waitFor();
    await admin.getByRole("link", { name: "Dead letters", exact: true }).click();
    await admin.getByRole("heading", { name: "1 × probe.fail" }).waitFor();
    await admin.getByRole("link", { name: "Tasks", exact: true }).click();
    await admin.getByRole("link", { name: "probe.fail" }).first().click();
    await admin.getByText("of globex").first().waitFor();
    expect(new URL(admin.url()).hash).toContain("tenant=globex");
    await admin.context().close();
  });

  test("each of these acts is in the audit with its actor", { timeout: 300_000 }, async () => {
    await page.goto(`${here.url}/console#/audit?tenant=globex`);
    for (const action of ["createKey", "revokeKey", "pauseTenant", "resumeTenant"]) {
      await page
        .getByRole("row", { name: new RegExp(`local-.*admin.*${action}`) })
        .first()
        .waitFor();
    }
    expect(await page.getByText("night shift").count()).toBeLessThan(2);
    await clean("audit");
  });

  test("a task is submitted by the form of its type's schema", { timeout: 300_000 }, async () => {
    await page.goto(`${here.url}/console#/submit?type=probe.echo`);
    await page.getByRole("combobox", { name: /^Type/ }).waitFor();
    await clean("submit");
    await page.getByLabel(/^value/).fill('"hello"');
    await page.getByRole("button", { name: "Submit", exact: true }).click();
    await page.getByRole("link", { name: "open the task" }).waitFor();
  });

  test("the webhooks' secret is shown when somebody asks for it", { timeout: 300_000 }, async () => {
    await page.goto(`${here.url}/console#/webhooks`);
    await page.getByText("No webhook was given up.").waitFor();
    await clean("webhooks");
    await page.getByRole("button", { name: "Show the secret …" }).click();
    await page
      .getByRole("dialog")
      .getByText(/whsec_/)
      .waitFor();
  });

  test("on a phone the link of the open page is in view", { timeout: 300_000 }, async () => {
    const phone = await here.browser.open("dev-admin", "#/keys", { viewport: { width: 390, height: 844 } });
    const right = () =>
      phone.locator('nav [aria-current="page"]').evaluate((link) => link.getBoundingClientRect().right);
    await expect.poll(right, { timeout: 300_000, interval: 250 }).toBeLessThanOrEqual(390);
    await phone.context().close();
  });

  test("the browser has nothing to complain about, such as the CSP", () => {
    expect(here.browser.problems).toEqual([]);
  });
});
