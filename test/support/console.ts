import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Browser, type BrowserContext, type Page, chromium as playwright } from "playwright-core";
import { chromium } from "./browser.ts";

/** Starts a Chromium that reaches no other machine than this one. */
export function launchChromium(): Promise<Browser> {
  const args = [
    "--no-proxy-server",
    // No other name than this machine's can be reached.
    "--host-resolver-rules=MAP * ~NOTFOUND,EXCLUDE 127.0.0.1,EXCLUDE localhost",
    ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
  ];
  return playwright.launch({ executablePath: chromium ?? "", args });
}

/** The console in a real Chromium, as people use it. */
export class ConsoleBrowser {
  readonly #browser: Browser;
  readonly #url: string;
  /** What the browser's console said: errors, violations of the CSP; not that the API refused a request. */
  readonly problems: string[] = [];

  private constructor(browser: Browser, url: string) {
    this.#browser = browser;
    this.#url = url;
  }

  static async start(url: string): Promise<ConsoleBrowser> {
    return new ConsoleBrowser(await launchChromium(), url);
  }

  close(): Promise<void> {
    return this.#browser.close();
  }

  /** Opens the console in a new window, and signs in with a key. @param hash Place in the console. */
  async open(token: string | undefined, hash = "", options: Parameters<Browser["newContext"]>[0] = {}): Promise<Page> {
    const context: BrowserContext = await this.#browser.newContext({
      viewport: { width: 1280, height: 900 },
      ...options,
    });
    const page = await context.newPage();
    page.setDefaultTimeout(240_000);
    page.on("console", (message) => {
      // The page itself shows what the API refuses, such as a request too many on a busy machine.
      const isAnswer = message.text().startsWith("Failed to load resource: the server responded");
      if (message.type() === "error" && !isAnswer) this.problems.push(message.text());
    });
    page.on("pageerror", (error) => this.problems.push(String(error)));
    await page.goto(`${this.#url}/console${hash}`);
    if (token !== undefined) {
      await page.getByLabel("API key").fill(token);
      await page.getByRole("button", { name: "Sign in", exact: true }).click();
      await page.getByRole("navigation", { name: "Pages" }).waitFor();
    }
    return page;
  }
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds on a page: each fault with the elements that have it. */
export async function axeFaults(page: Page): Promise<string[]> {
  // Evaluated by the debugger, which the page's CSP does not bind; once in a page.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axeSource);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(options: object): Promise<{ violations: AxeFault[] }> };
    };
    interface AxeFault {
      id: string;
      help: string;
      nodes: { html: string }[];
    }
    const { violations } = await axe.run({ resultTypes: ["violations"], preload: false });
    return violations.map(
      ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 200)).join(" | ")}`,
    );
  });
}

/** Saves pictures of a page in both themes and at phone width, into the folder in OFFLOAD_PICTURES. Without it, none. */
export async function pictures(page: Page, name: string): Promise<void> {
  const folder = process.env.OFFLOAD_PICTURES;
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  const before = page.viewportSize() ?? { width: 1280, height: 900 };
  const take = (of: string) => page.screenshot({ path: join(folder, `${name}-${of}.png`), fullPage: true });
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await take(colorScheme);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  await take("phone");
  await page.setViewportSize(before);
  await page.emulateMedia({ colorScheme: "light" });
}
