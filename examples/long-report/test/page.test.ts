import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { deployed, patient, startWorld, type World } from "./world.ts";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const hasBrowser = existsSync(executablePath);
if (!hasBrowser) console.warn(`\n!!! NO CHROMIUM AT ${executablePath}: THE PAGE IS NOT TESTED. Set CHROMIUM. !!!\n`);

// A page cannot reach the WebSockets of an emulated account: their name leads to AWS.
describe.skipIf(!hasBrowser || deployed !== undefined)("the page", { timeout: 300_000 }, () => {
  let world: World;
  let browser: Browser;
  beforeAll(async () => {
    world = await startWorld();
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  }, 120_000);
  afterAll(async () => {
    await browser.close();
    await world.close();
  });

  /** Opens the page, and waits for its channel. */
  async function open() {
    const page = await browser.newPage({ viewport: { width: 900, height: 660 } });
    onTestFinished(() => page.close());
    page.setDefaultTimeout(patient.timeout);
    const requests: string[] = [];
    page.on("request", (request) => requests.push(`${request.method()} ${new URL(request.url()).pathname}`));
    await page.goto(world.url);
    await page.waitForSelector("body[data-channel=open]");
    return { page, requests };
  }

  async function fill(page: Page, fields: Record<string, string>) {
    for (const name of ["firstMonth", "months", "seconds"]) {
      if (fields[name] !== undefined) await page.fill(`[name=${name}]`, fields[name]);
    }
    for (const name of ["region", "format"]) {
      if (fields[name] !== undefined) await page.selectOption(`[name=${name}]`, fields[name]);
    }
  }

  /** Makes a report. Returns its id and its card. */
  async function make(page: Page, fields: Record<string, string>) {
    await fill(page, fields);
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.url().endsWith("/api/reports")),
      page.click("form button"),
    ]);
    expect(answer.status()).toBe(202);
    const id = ((await answer.json()) as { task_id: string }).task_id;
    return { id, card: page.locator(`[id="${id}"]`) };
  }

  test("shows each fault of a form at its field, and makes no report", async () => {
    const { page } = await open();
    await fill(page, { region: "mars", firstMonth: "July", months: "0" });
    await page.click("form button");
    await page.waitForSelector("[aria-invalid]");
    const marked = await page
      .locator("[aria-invalid]")
      .evaluateAll((fields) => fields.map((field) => field.getAttribute("name")));
    expect(marked).toEqual(["region", "firstMonth", "months"]);
    const faults = await page.locator("output").allTextContents();
    expect(faults.map((text) => text !== "")).toEqual([true, true, true, false, false]);
    expect(await page.locator("li").count()).toBe(0);
  });

  test("moves the bar of a report by push, without asking for its status, and shows both ends", async () => {
    const { page, requests } = await open();
    requests.length = 0;
    const { id, card } = await make(page, { firstMonth: "2025-07", months: "12", seconds: "12" });
    const values = new Set<number>();
    const sample = async () => {
      values.add(await card.locator("progress").evaluate((bar) => (bar as unknown as { value: number }).value));
      return card.locator(".status").textContent();
    };
    await expect.poll(sample, patient).toBe("completed");
    expect(values.size).toBeGreaterThan(3);
    await card.locator("a").waitFor();
    expect(await card.locator(".outcome").textContent()).toBe("PARTIAL");
    // One read at the end, and nothing else. The page also reads reports of other tests when it opens.
    const own = requests.filter((request) => !request.startsWith("GET /api/tasks/") || request.endsWith(id));
    expect(own).toEqual(["POST /api/reports", `GET /api/tasks/${id}`]);

    const [download] = await Promise.all([page.waitForEvent("download"), card.locator("a").click()]);
    expect(download.suggestedFilename()).toBe("north-2025-07.csv");
    await card.locator(".extend").click();
    if (process.env.SCREENSHOTS === "1") {
      await make(page, { region: "online", seconds: "60", format: "page" });
      await page.waitForFunction("document.querySelector('progress').value > 30");
      await page.screenshot({ path: join(import.meta.dirname, "../docs/screenshot.png") });
    }
    await card.locator(".acknowledge").click();
    await expect.poll(() => card.locator(".outcome").textContent(), patient).toBe("deleted");
    expect((await world.page("GET", `/api/tasks/${id}/result`)).status).toBe(410);
  });

  test("follows the result of a report to its own page", async () => {
    const { page } = await open();
    const { id, card } = await make(page, { seconds: "1", months: "2", format: "page" });
    await card.locator("a").click();
    await page.waitForURL(`${world.url}/reports/${id}`);
    expect(await page.textContent("strong")).toBe("COMPLETE");
    expect(await page.locator("tr").count()).toBe(3);
  });

  test("cancels a report that runs", async () => {
    const { page } = await open();
    const { card } = await make(page, { seconds: "600" });
    await expect.poll(() => card.locator(".status").textContent(), patient).toBe("processing");
    await card.locator(".cancel").click();
    await expect.poll(() => card.locator(".status").textContent(), patient).toBe("cancelled");
    expect(await card.locator("a").isVisible()).toBe(false);
  });

  test("shows its reports again after it was closed and opened", async () => {
    const first = await open();
    const { id } = await make(first.page, { seconds: "15" });
    await first.page.close();
    const { page } = await open();
    await expect.poll(() => page.locator(`[id="${id}"] .status`).textContent(), patient).toBe("completed");
  });
});
