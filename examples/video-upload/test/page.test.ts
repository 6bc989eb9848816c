import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { expect, test } from "vitest";
import { deployed, startSystem } from "./system.ts";
import { makeVideo, noFfmpeg, temporaryFolder } from "./videos.ts";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const noBrowser = !existsSync(executablePath);
if (noBrowser) console.warn(`\n!!! NO BROWSER AT ${executablePath}: THE PAGE IS NOT TESTED. Set CHROMIUM. !!!\n`);

test.skipIf(noBrowser || noFfmpeg)(
  "a user uploads a file that is no video, tries again, and then uploads a video",
  { timeout: 600_000 },
  async () => {
    const { url, probed } = await startSystem();
    const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
    try {
      // The certificate of an emulated account's storage is its own.
      const page = await browser.newPage({ viewport: { width: 640, height: 480 }, ignoreHTTPSErrors: deployed });
      const folder = temporaryFolder();
      const upload = async (name: string, bytes: string | Uint8Array) => {
        writeFileSync(join(folder, name), bytes);
        await page.getByLabel("Video").setInputFiles(join(folder, name));
        await page.getByRole("button", { name: "Upload" }).click();
      };
      const patient = { timeout: 300_000 };
      const failure = page.getByRole("alert");
      const reason = async () => {
        await failure.waitFor(patient);
        return failure.locator("span").textContent();
      };
      await page.goto(url);

      await upload("letter.mp4", `Dear Sir, ${crypto.randomUUID()}`);
      expect(await reason()).toBe("source: Invalid data found when processing input");
      await failure.getByRole("button", { name: "Try again" }).click();
      await failure.waitFor({ state: "hidden" });
      expect(await reason()).toBe("source: Invalid data found when processing input");

      // Every value that the bar has, also those between two looks.
      await page.evaluate(() => {
        const bar = document.getElementById("encoding") as HTMLProgressElement;
        const seen: number[] = [];
        Object.assign(window, { seen });
        new MutationObserver(() => seen.push(bar.value)).observe(bar, { attributes: true });
      });
      await upload("film.mp4", makeVideo({ seconds: 40, size: "640x480" }));
      await page.getByRole("status").filter({ hasText: "Ready" }).waitFor(patient);
      const values = await page.evaluate(() => (window as unknown as { seen: number[] }).seen);
      expect(values.filter((value) => value > 0 && value < 100)).not.toEqual([]);
      expect(await page.locator("#upload").getAttribute("value")).toBe("100");
      const links = page.getByRole("link");
      expect(await links.allTextContents()).toEqual(["240p", "180p", "120p"]);
      for (const link of await links.all()) {
        const height = Number.parseInt((await link.textContent()) ?? "", 10);
        expect(await probed((await link.getAttribute("href")) ?? "")).toMatchObject({ codec: "h264", height });
      }
      if (process.env.SCREENSHOTS === "1") await page.screenshot({ path: "docs/screenshot.png" });

      await page.reload();
      await expect.poll(() => links.count(), patient).toBe(3);
    } finally {
      await browser.close();
    }
  },
);
