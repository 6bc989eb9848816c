import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { extname, join } from "node:path";

/* The built site of the pages: its files over HTTP, and its links. */

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
  ".json": "application/json",
};

/** The file of an address of the site. Undefined: there is none. */
function fileOf(folder: string, path: string): string | undefined {
  const plain = join(folder, decodeURIComponent(path));
  const candidates = path.endsWith("/") ? [`${plain}index.html`] : [plain, `${plain}.html`];
  return candidates.find((file) => existsSync(file) && statSync(file).isFile());
}

/** Serves the site's folder on a free port of this machine. */
export async function serveSite(folder: string): Promise<{ url: string; server: Server }> {
  const server = createServer(({ url = "/" }, response) => {
    const file = fileOf(folder, new URL(url, "http://site.test").pathname);
    if (file === undefined) return void response.writeHead(404).end("no such page");
    response.writeHead(200, { "content-type": types[extname(file)] ?? "text/plain; charset=utf-8" });
    response.end(readFileSync(file));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error(`expected a port, got ${address}`);
  return { url: `http://127.0.0.1:${address.port}`, server };
}

/** The addresses of all pages, such as `/` and `/problems/conflict.html`. */
export const addressesIn = (folder: string): string[] =>
  globSync("**/*.html", { cwd: folder })
    .filter((file) => file !== "404.html")
    .map((file) => `/${file.replaceAll("\\", "/").replace(/(^|\/)index\.html$/, "$1")}`)
    .sort();

const unescaped = (text: string): string =>
  text.replaceAll("&amp;", "&").replaceAll("&#39;", "'").replaceAll("&quot;", '"');
const valuesOf = (html: string, attribute: string): string[] =>
  [...html.matchAll(new RegExp(`\\s${attribute}="([^"]*)"`, "g"))].map(([, value = ""]) => unescaped(value));

/** The links and pictures of all pages that lead to no file, or to no heading of a page. */
export function deadLinksIn(folder: string): { links: number; dead: string[] } {
  const anchors = new Map<string, Set<string>>();
  const anchorsOf = (file: string): Set<string> => {
    const known = anchors.get(file) ?? new Set(valuesOf(readFileSync(file, "utf8"), "id"));
    anchors.set(file, known);
    return known;
  };
  let links = 0;
  const isDead = (address: string, target: string): boolean => {
    const { protocol, host, pathname, hash } = new URL(target, `http://site.test${address}`);
    if (!/^https?:$/.test(protocol) || host !== "site.test") return false;
    links += 1;
    const file = fileOf(folder, pathname);
    if (file === undefined) return true;
    return hash !== "" && file.endsWith(".html") && !anchorsOf(file).has(decodeURIComponent(hash.slice(1)));
  };
  const dead = addressesIn(folder).flatMap((address) => {
    const html = readFileSync(fileOf(folder, address) ?? "", "utf8");
    const targets = [...new Set([...valuesOf(html, "href"), ...valuesOf(html, "src"), ...valuesOf(html, "srcset")])];
    return targets.filter((target) => isDead(address, target)).map((target) => `${address} -> ${target}`);
  });
  return { links, dead };
}

/**
 * Lists the parts that a reader of a page cannot see: the page scrolls sideways, or a table, block of code or picture is cut. A part
 * that scrolls by itself may be wider than the page if it shows a scroll bar, or a shadow at its edge. Runs in the browser.
 */
export function cutParts(): string[] {
  const { clientWidth, scrollWidth } = document.documentElement;
  const faults = scrollWidth > clientWidth ? [`the page is ${scrollWidth} px wide, of ${clientWidth}`] : [];
  const nameOf = (element: Element): string =>
    `${element.tagName.toLowerCase()}: ${element.textContent?.trim().slice(0, 80)}`;
  const scrolls = (element: Element): boolean => /auto|scroll/.test(getComputedStyle(element).overflowX);
  const hasSign = (element: HTMLElement): boolean =>
    element.offsetHeight - element.clientHeight > 4 || getComputedStyle(element).backgroundImage !== "none";
  const holderOf = (element: Element): HTMLElement | undefined => {
    for (let one: Element | null = element; one !== null && !one.matches(".vp-doc"); one = one.parentElement) {
      if (scrolls(one)) return one as HTMLElement;
    }
    return undefined;
  };
  for (const element of document.querySelectorAll<HTMLElement>(".vp-doc :is(table, pre, img, svg)")) {
    if (element.getClientRects().length === 0) continue;
    const holder = holderOf(element);
    const room = (holder ?? element.closest(".vp-doc") ?? document.body).getBoundingClientRect().right + 1;
    const isWide = element.getBoundingClientRect().right > room || element.scrollWidth > element.clientWidth + 1;
    if (!isWide) continue;
    if (holder === undefined) faults.push(`cut: ${nameOf(element)}`);
    else if (!hasSign(holder)) faults.push(`scrolls without a sign: ${nameOf(element)}`);
  }
  return faults;
}
