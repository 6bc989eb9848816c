import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** Draws a terminal's text, when SCREENSHOTS=1 is set and there is a browser. Lines with `$` are commands. */
export async function drawTerminal(text: string, path: string): Promise<void> {
  if (process.env.SCREENSHOTS !== "1") return;
  if (!existsSync(executablePath)) return console.log(`!!! NO CHROMIUM AT ${executablePath}: ${path} IS NOT DRAWN !!!`);
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-lcd-text"] });
  try {
    const page = await browser.newPage({ viewport: { width: 1000, height: 100 } });
    const html = escaped(text).replaceAll(/^\$ .*$/gm, "<b>$&</b>");
    const style =
      "margin:0;padding:20px;background:#14161b;color:#cfd3dc;font:12px/18px monospace;white-space:pre-wrap";
    await page.setContent(`<style>b{color:#7fd1a5}</style><body style="margin:0"><pre style="${style}">${html}</pre>`);
    await page.screenshot({ path, fullPage: true });
  } finally {
    await browser.close();
  }
}
