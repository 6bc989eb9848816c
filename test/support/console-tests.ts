import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { chromium, noChromium } from "./browser.ts";
import { axeFaults, ConsoleBrowser, pictures } from "./console.ts";
import { Client } from "./http-client.ts";
import { startHere } from "./own-process-server.ts";

/** A local server of the test's own process, with the probe types, and a browser for its console. */
export interface ConsoleHere {
  url: string;
  browser: ConsoleBrowser;
  /** Client of the tenant acme. */
  operator: Client;
  admin: Client;
}

/** Tests of the console in a real Chromium. Without one they are skipped, loudly. @param settings Further environment. */
export function describeConsole(
  name: string,
  settings: Record<string, string>,
  tests: (here: ConsoleHere) => void,
): void {
  if (chromium === undefined) console.error(`\n!!! THE CONSOLE WAS NOT TESTED: NO CHROMIUM !!!\n${noChromium}\n`);
  describe.skipIf(chromium === undefined)(`${name}, in a browser`, () => {
    const here = {} as ConsoleHere;
    const ends: (() => Promise<void>)[] = [];
    beforeAll(async () => {
      const { url, close } = await startHere({ OFFLOAD_PROBES: "1", ...settings });
      ends.push(close);
      here.url = url;
      here.browser = await ConsoleBrowser.start(url);
      ends.push(() => here.browser.close());
      here.operator = new Client(url, { token: "dev-acme", tenant: "acme", role: "operator" });
      here.admin = new Client(url, { token: "dev-admin", tenant: "acme", role: "admin" });
    });
    afterAll(async () => {
      for (const end of ends.reverse()) await end();
    });
    tests(here);
  });
}

/**
 * Expects that a page, once it is loaded, fits a phone, and that axe objects to nothing: on a desk in the light theme, on
 * a phone in the dark one; with `OFFLOAD_AXE=whole` in both themes on each. Saves its pictures.
 */
export async function expectClean(page: Page, name: string): Promise<void> {
  await page.locator("h1").first().waitFor();
  const loading = page.getByText("Loading …", { exact: true });
  await expect.poll(() => loading.count(), { timeout: 300_000, interval: 250 }).toBe(0);
  await pictures(page, name);
  const isWhole = process.env.OFFLOAD_AXE === "whole";
  expect(await axeFaults(page)).toEqual([]);
  if (isWhole) {
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await axeFaults(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: "light" });
  }
  const before = page.viewportSize() ?? { width: 1280, height: 900 };
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.evaluate(tooWide)).toEqual([]);
  if (isWhole) expect(await axeFaults(page)).toEqual([]);
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await axeFaults(page)).toEqual([]);
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(before);
}

/** Elements of a page that reach over its right edge, when it scrolls sideways. Runs in the browser. */
function tooWide(): string[] {
  const { clientWidth, scrollWidth } = document.documentElement;
  if (scrollWidth <= clientWidth) return [];
  return [...document.querySelectorAll("*")]
    .filter((element) => element.getBoundingClientRect().right > clientWidth)
    .map((element) => element.outerHTML.slice(0, 200));
}
