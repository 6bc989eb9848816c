import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeConsole, expectClean } from "../../support/console-tests.ts";
import { isSigned, Receiver } from "../../support/receiver.ts";

/** A busy machine answers late. */
const patient = { timeout: 300_000, interval: 250 };

const attack = `<img src=x onerror="window.attacked=1">`;

/** The server must know the receiver's host when it starts. */
const program = await Receiver.start(0);
afterAll(() => program.close());

describeConsole("receivers of webhooks", { OFFLOAD_CALLBACK_HOSTS: program.host }, (here) => {
  let page: Page;
  let secret: string;
  let status = 200;
  const url = program.url(() => [status, {}, `${attack}\u202eok`]);

  beforeAll(async () => {
    page = await here.browser.open("dev-acme", "#/webhooks");
  }, 300_000);

  const clean = (name: string) => expectClean(page, name);
  const row = (): Locator => page.getByRole("row", { name: new RegExp(new URL(url).pathname) });
  const fact = (name: string): Locator => page.locator(".facts > div", { has: page.getByText(name, { exact: true }) });
  const deliveries = (text: string): Locator => page.getByRole("group").filter({ hasText: text });

  /** Reads the log again until it has a delivery. */
  async function logged(text: string): Promise<void> {
    await expect
      .poll(async () => {
        await page.getByRole("button", { name: "Read again" }).click();
        return deliveries(text).count();
      }, patient)
      .toBeGreaterThan(0);
  }

  /** The secret of the dialog that shows it once. */
  async function shownSecret(title: string): Promise<string> {
    const dialog = page.getByRole("dialog", { name: title });
    const text = (await dialog.locator("pre").textContent()) ?? "";
    await clean(`receiver-${title.replaceAll(/\W+/g, "-")}`);
    await dialog.getByRole("button", { name: "I have copied it" }).click();
    return text;
  }

  test("a tenant without receivers is told so; an address that is not public is refused at the form", {
    timeout: 300_000,
  }, async () => {
    await page.getByText("acme has no receiver.").waitFor();
    await clean("receivers-none");
    await page.getByRole("button", { name: "New receiver …" }).click();
    const dialog = page.getByRole("dialog", { name: "New receiver of acme" });
    await dialog.getByLabel("URL").fill("https://localhost/hooks");
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.getByRole("alert").getByText("/url").waitFor();
    await clean("receiver-refused");
  });

  test("one is created for some ends, and its secret is shown once", { timeout: 300_000 }, async () => {
    const dialog = page.getByRole("dialog", { name: "New receiver of acme" });
    await dialog.getByLabel("URL").fill(url);
    for (const end of ["completed", "failed", "cancelled", "expired"]) await dialog.getByLabel(end).uncheck();
    expect(await dialog.getByRole("button", { name: "Create" }).isDisabled()).toBe(true);
    await dialog.getByLabel("completed").check();
    await dialog.getByLabel(/Task types/).fill("probe.echo");
    await dialog.getByLabel("Description").fill(attack);
    await dialog.getByRole("button", { name: "Create" }).click();
    secret = await shownSecret("The receiver's secret");
    expect(secret).toMatch(/^whsec_/);
    await row().getByText("healthy").waitFor();
    expect(await row().textContent()).toContain(attack);
    expect(await page.getByText(secret).count()).toBe(0);
    expect((await here.operator.get("/webhooks")).json()).toMatchObject({
      webhooks: [{ url, events: ["task.completed"], types: ["probe.echo"], description: attack }],
    });
    await clean("receivers");
  });

  test("a test arrives, signed; the log has its body and the start of the answer, as text", {
    timeout: 300_000,
  }, async () => {
    await row().getByRole("link").click();
    await page.getByRole("button", { name: "Send a test" }).click();
    const [received] = await program.got(url, 1);
    expect(received?.json.type).toBe("webhook.test");
    expect(received && isSigned(received, secret)).toBe(true);
    await logged("delivered");
    await deliveries("webhook.test").locator("summary").first().click();
    await page.getByRole("cell", { name: attack }).waitFor();
    await page.getByRole("cell", { name: "\\u202eok" }).waitFor();
    await page.getByRole("region", { name: "Body of the request" }).getByText("webhook.test").waitFor();
    expect(await page.evaluate(() => "attacked" in window)).toBe(false);
    await clean("receiver");
  });

  test("one that fails says since when; its deliveries of a range of time are sent again", {
    timeout: 300_000,
  }, async () => {
    status = 410;
    const { task_id } = await here.operator.submit("probe.echo", { value: 1 });
    await program.got(url, 2);
    await page.getByLabel("Status").selectOption("failed");
    await logged("task.completed");
    await page.reload();
    await page.getByRole("alert").getByText("After five days").waitFor();
    await fact("State").getByText("failing").waitFor();
    await deliveries("task.completed").locator("summary").first().click();
    await page.getByRole("cell", { name: "410" }).waitFor();
    const link = page.getByRole("link", { name: "Open the task" });
    expect(await link.getAttribute("href")).toContain(task_id);
    await clean("receiver-failing");
    status = 204;
    await page.getByLabel("Begun after").fill("2026-01-01T00:00");
    await page.getByRole("button", { name: "Deliver again …" }).click();
    const dialog = page.getByRole("dialog", { name: "Deliver again" });
    await dialog.getByText(/status = failed, after = 20/).waitFor();
    await dialog.getByText("1 deliveries match.").waitFor();
    await clean("receiver-replay");
    await dialog.getByRole("button", { name: "Deliver 1", exact: true }).click();
    await dialog.getByText(/The operation is completed: 1 of 1/).waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await program.got(url, 3);
    await page.getByLabel("Status").selectOption("delivered");
    await logged("task.completed");
    await page.reload();
    await fact("State").getByText("healthy").waitFor();
  });

  test("it is changed, disabled and enabled, and gets a new secret", { timeout: 300_000 }, async () => {
    await page.getByRole("button", { name: "Change …" }).click();
    const form = page.getByRole("dialog", { name: "Change the receiver" });
    expect(await form.getByLabel("URL").inputValue()).toBe(url);
    await form.getByLabel("failed").check();
    await form.getByLabel(/Task types/).fill("");
    await form.getByLabel("Description").fill("the shop");
    await form.getByRole("button", { name: "Change", exact: true }).click();
    await fact("Description").getByText("the shop").waitFor();
    await page.getByRole("button", { name: "Disable" }).click();
    await fact("State").getByText("by hand").waitFor();
    expect(await page.getByRole("button", { name: "Send a test" }).count()).toBe(0);
    await clean("receiver-disabled");
    expect((await here.operator.get("/webhooks")).json()).toMatchObject({
      webhooks: [{ enabled: false, events: ["task.completed", "task.failed"], types: null, description: "the shop" }],
    });
    await page.getByRole("button", { name: "Enable" }).click();
    await fact("State").getByText("healthy").waitFor();
    await page.getByRole("button", { name: "Rotate the secret …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Rotate", exact: true }).click();
    const rotated = await shownSecret("The receiver's new secret");
    expect(rotated).toMatch(/^whsec_/);
    expect(rotated).not.toBe(secret);
  });

  test("an admin sees those of all tenants, each with its tenant, and creates none there", {
    timeout: 300_000,
  }, async () => {
    const admin = await here.browser.open("dev-admin", "#/webhooks?tenant=*");
    await admin.getByRole("cell", { name: "acme", exact: true }).waitFor();
    await expectClean(admin, "receivers-all");
    expect(await admin.getByRole("button", { name: "New receiver …" }).count()).toBe(0);
    await admin.getByRole("link", { name: url }).click();
    await admin.getByRole("button", { name: "Send a test" }).waitFor();
    expect(new URL(admin.url()).hash).toContain("tenant=acme");
    await admin.context().close();
  });

  test("it is deleted, after a question", { timeout: 300_000 }, async () => {
    await page.getByRole("button", { name: "Delete …" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete the receiver" });
    await clean("receiver-delete");
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("acme has no receiver.").waitFor();
    expect((await here.operator.get("/webhooks")).json()).toMatchObject({ webhooks: [] });
  });

  test("the browser has nothing to complain about, such as the CSP", () => {
    expect(here.browser.problems).toEqual([]);
  });
});
