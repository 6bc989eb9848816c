import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** Draws a terminal's text, when SCREENSHOTS=1 is set and there is a browser. Lines with `$` are commands. */
export async function drawTerminal(lines: readonly string[], path: string): Promise<void> {
  if (process.env.SCREENSHOTS !== "1") return;
  if (!existsSync(executablePath)) return console.log(`!!! NO CHROMIUM AT ${executablePath}: ${path} IS NOT DRAWN !!!`);
  const browser = await chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-lcd-text", "--disable-font-subpixel-positioning"],
  });
  try {
    const page = await browser.newPage({ viewport: { width: 1260, height: 100 } });
    const text = lines
      .flatMap((block) => block.split("\n"))
      // Only the project's own frames of a stack.
      .filter((line) => !line.includes("file:/"))
      .map((line) => (line.startsWith("$ ") ? `<b>${escaped(line)}</b>` : escaped(line)))
      .join("\n");
    const style =
      "margin:0;padding:20px;background:#14161b;color:#cfd3dc;font:11.6667px/17px monospace;white-space:pre-wrap";
    await page.setContent(`<style>b{color:#7fd1a5}</style><body style="margin:0"><pre style="${style}">${text}</pre>`);
    await page.screenshot({ path, fullPage: true });
  } finally {
    await browser.close();
  }
}
