import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const candidates = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Path of an installed Chromium; the environment variable CHROMIUM can name another. Undefined: there is none. */
export const chromium = [process.env.CHROMIUM ?? "", ...candidates].find((path) => path !== "" && existsSync(path));

/** Reason for skipped tests, for people who read the output. */
export const noChromium = `None of these files exists: $CHROMIUM, ${candidates.join(", ")}. On Debian: apt-get install chromium`;

const options = [
  "--headless",
  "--disable-gpu",
  "--disable-background-networking",
  "--no-first-run",
  "--no-proxy-server",
  // Keeps the browser open without a terminal command such as --dump-dom.
  "--remote-debugging-port=0",
  // As after DNS rebinding: the name of a website leads to this machine. No other name can be reached.
  "--host-resolver-rules=MAP evil.example 127.0.0.1,MAP * ~NOTFOUND,EXCLUDE 127.0.0.1,EXCLUDE localhost",
  // Chromium's sandbox does not start for root.
  ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
];

/**
 * Opens a page in a real browser while `work` goes on.
 * @throws Error with the browser's output when the browser ends before `work`
 */
export async function whileOpen<T>(url: string, work: Promise<T>): Promise<T> {
  if (chromium === undefined) throw new Error(noChromium);
  const profile = mkdtempSync(join(tmpdir(), "offload-chromium-"));
  const browser = spawn(chromium, [...options, `--user-data-dir=${profile}`, url], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let output = "";
  browser.stderr.on("data", (chunk: Buffer) => {
    output = (output + chunk.toString("utf8")).slice(-5_000);
  });
  const exited = once(browser, "exit");
  const ended = exited.then(() => Promise.reject(new Error(`the browser ended too early:\n${output}`)));
  try {
    return await Promise.race([work, ended]);
  } finally {
    ended.catch(() => {});
    browser.kill();
    await exited;
    rmSync(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
}
