import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { chromium, noChromium } from "./support/browser.ts";
import { axeFaults, launchChromium } from "./support/console.ts";
import { addressesIn, cutParts, deadLinksIn, serveSite } from "./support/site.ts";

/*
 * Judges the built site as its readers meet it: `npm run docs && npm run test:site`. All links lead to a page and to one of its headings, and each page
 * fits a desk (1360 px) and a phone (390 px). Of each kind one page is judged by axe in both themes at both sizes; `-- whole` judges all pages in both
 * themes, `-- ADDRESS ...` some.
 */

const folder = join(import.meta.dirname, "../docs/.vitepress/dist");
const sizes = { desk: { width: 1360, height: 900 }, phone: { width: 390, height: 844 } };

/** Pages of each kind: home, guide, many tables, pictures, code with tabs, references that are written by tools. */
const kinds = [
  "/",
  "/write-a-task.html",
  "/error-kinds/crashed.html",
  "/concepts.html",
  "/glossary.html",
  "/do-it-once.html",
  "/api-operations.html",
  "/api/offload.triggers.html",
];

/** Ends only what hangs: a busy machine takes its time. */
const patienceMs = 240_000;

async function newPage(browser: Browser, options?: BrowserContextOptions): Promise<Page> {
  const page = await browser.newPage(options);
  page.setDefaultTimeout(patienceMs);
  return page;
}

/** Each page at both sizes, as it comes without its scripts: they change no size, and take most of the time. */
async function fitted(browser: Browser, url: string, addresses: readonly string[]): Promise<string[]> {
  const page = await newPage(browser, { javaScriptEnabled: false });
  const faults: string[] = [];
  for (const address of addresses) {
    await page.setViewportSize(sizes.desk);
    await page.goto(`${url}${address}`, { waitUntil: "load" });
    for (const [name, size] of Object.entries(sizes)) {
      await page.setViewportSize(size);
      faults.push(...(await page.evaluate(cutParts)).map((fault) => `${address} (${name}): ${fault}`));
    }
  }
  await page.close();
  return faults;
}

/** The shadow at the edge of a block of code is a picture: axe judges no contrast before one. */
const withoutShadows = '.vp-doc div[class*="language-"] > pre { background: none !important; }';

/**
 * Axe judges an example of each kind in both themes at both sizes, another page in light on a desk and in dark on a
 * phone. Returns its objections.
 */
async function accessible(browser: Browser, url: string, addresses: readonly string[]): Promise<string[]> {
  const page = await newPage(browser, { reducedMotion: "reduce" });
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(`${page.url()}: ${error}`));
  for (const address of addresses) {
    await page.goto(`${url}${address}`, { waitUntil: "load" });
    await page.addStyleTag({ content: withoutShadows });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.waitForFunction(
        (isDark) => document.documentElement.classList.contains("dark") === isDark,
        colorScheme === "dark",
      );
      for (const [name, size] of Object.entries(sizes)) {
        if (!kinds.includes(address) && (name === "phone") !== (colorScheme === "dark")) continue;
        await page.setViewportSize(size);
        faults.push(...(await axeFaults(page)).map((fault) => `${address} (${colorScheme}, ${name}): ${fault}`));
      }
    }
  }
  await page.close();
  return faults;
}

/** The button of a page copies its Markdown. */
async function copied(browser: Browser, url: string): Promise<string[]> {
  const context = await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  page.setDefaultTimeout(patienceMs);
  await page.goto(`${url}/glossary.html`);
  await page.getByRole("button", { name: "Copy as Markdown" }).click();
  await page.waitForFunction(async () => (await navigator.clipboard.readText()) !== "");
  const text = await page.evaluate(() => navigator.clipboard.readText());
  await context.close();
  return text === readFileSync(join(folder, "../../glossary.md"), "utf8")
    ? []
    : ["the copied page is not its Markdown"];
}

/** The search finds a page by people's words. */
async function searched(browser: Browser, url: string): Promise<string[]> {
  const page = await newPage(browser);
  await page.goto(url);
  await page.getByRole("button", { name: "Search" }).click();
  await page.locator("#localsearch-input").fill("exponential backoff");
  const first = page.locator("#localsearch-list a").first();
  await first.waitFor();
  const target = await first.getAttribute("href");
  const faults = (await axeFaults(page)).map((fault) => `the search: ${fault}`);
  await page.close();
  return target?.startsWith("/errors")
    ? faults
    : [...faults, `the search for exponential backoff finds ${target} first`];
}

async function lookedAt(): Promise<string[]> {
  const { url, server } = await serveSite(folder);
  const browser = await launchChromium();
  const asked = process.argv.slice(2);
  const all = addressesIn(folder);
  const judged = asked.includes("whole") ? all : asked.length > 0 ? asked : kinds;
  try {
    const parts = [
      () => fitted(browser, url, all),
      () => copied(browser, url),
      () => searched(browser, url),
      () => accessible(browser, url, judged),
    ];
    const faults: string[] = [];
    for (const part of parts) {
      const start = Date.now();
      faults.push(...(await part()));
      console.log(`${((Date.now() - start) / 1000).toFixed()} s`);
    }
    return faults;
  } finally {
    await browser.close();
    server.close();
  }
}

if (!existsSync(folder)) throw new Error(`expected the built site in ${folder}: npm run docs builds it`);
const { links, dead } = deadLinksIn(folder);
console.log(`${links} links of ${addressesIn(folder).length} pages, ${dead.length} dead`);
if (chromium === undefined) console.error(`\n!!! THE SITE WAS NOT LOOKED AT: NO CHROMIUM !!!\n${noChromium}\n`);
const start = Date.now();
const faults = [...dead.map((link) => `dead link: ${link}`), ...(chromium === undefined ? [] : await lookedAt())];
console.log(`${faults.length} faults, found in ${Math.round((Date.now() - start) / 1000)} s`);
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
