import { existsSync } from "node:fs";
import { chromium } from "playwright-core";
import { expect, test } from "vitest";
import { startSystem } from "./system.ts";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const hasBrowser = existsSync(executablePath);
if (!hasBrowser) console.warn(`!!! NO BROWSER AT ${executablePath}: THE PAGE IS NOT TESTED. Set CHROMIUM. !!!`);

// The page is the same in a deployment.
test.skipIf(!hasBrowser || process.env.OFFLOAD_URL !== undefined)(
  "a user signs up and signs in on the page, and sees why a wrong password is refused",
  async () => {
    const { service, mailbox } = await startSystem();
    const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
    try {
      const page = await browser.newPage({ viewport: { width: 520, height: 520 } });
      await page.goto(service.url);
      const status = async (text: string | RegExp) =>
        page.getByRole("status").filter({ hasText: text }).waitFor({ timeout: 60_000 });
      await page.getByLabel("Mail address").fill("ada@example.com");
      await page.getByLabel("Password").fill("correct horse");
      await page.getByRole("button", { name: "Sign up" }).click();
      await status("Welcome, ada@example.com. A mail is on its way.");
      await page.getByRole("button", { name: "Sign in" }).click();
      await status("Signed in as ada@example.com. This is your first sign-in.");
      await expect.poll(() => mailbox.mails.map(({ to }) => to), { timeout: 60_000 }).toEqual(["ada@example.com"]);
      await expect
        .poll(() => page.evaluate(async () => (await fetch("/me")).json()), { timeout: 60_000 })
        .toMatchObject({ email: "ada@example.com", lastLogin: expect.stringMatching(/Z$/) });
      await page.getByRole("button", { name: "Sign in" }).click();
      await status(/Your last sign-in was at \S+Z\./);
      if (process.env.SCREENSHOTS === "1") await page.screenshot({ path: "docs/screenshot.png" });
      await page.getByLabel("Password").fill("a wrong one");
      await page.getByRole("button", { name: "Sign in" }).click();
      await status("Sorry, wrong address or password.");
    } finally {
      await browser.close();
    }
  },
  180_000,
);
