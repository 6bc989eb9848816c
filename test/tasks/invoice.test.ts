import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { extractText, getDocumentProxy, getMeta } from "unpdf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TaskContext } from "../../src/core/task/context.ts";
import { FileResult } from "../../src/core/task/result.ts";
import { entries } from "../../src/installed/installation.ts";
import { isPrintable } from "../../tasks/invoice/fields.ts";
import { orderSchema } from "../../tasks/invoice/order.ts";
import invoice from "../../tasks/invoice.generate.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const examplePath = (name: string) => join(root, "examples", name);
const example = async (name: string) => JSON.parse(await readFile(examplePath(name), "utf8"));

/** An attempt's context with what the handler may use. */
function attempt(onProgress: (percent: number) => void = () => undefined, signal = new AbortController().signal) {
  const quiet = () => undefined;
  const unused = () => {
    throw new Error("not for this task");
  };
  const context: TaskContext = {
    tenantId: "acme",
    taskId: "1",
    type: invoice.name,
    attempt: 1,
    attemptOverall: 1,
    correlationId: "c",
    requestedBy: "p",
    traceparent: undefined,
    signal,
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    files: {},
    progress: onProgress,
    traceHeaders: unused,
    signalUrl: unused,
    submit: unused,
    spawn: unused,
    spawnAll: unused,
    putSchedule: unused,
    deleteSchedule: unused,
    once: unused,
    step: unused,
    run: unused,
    sleep: unused,
    sleepUntil: unused,
    waitFor: unused,
    nextSignal: unused,
    waitForAny: unused,
    state: undefined,
    checkpoint: unused,
    continueLater: unused,
    remainingMs: unused,
    now: () => new Date(0),
    maxAttempts: 5,
    isLastAttempt: false,
  };
  return context;
}

async function generate(order: unknown, context = attempt()): Promise<FileResult> {
  const result = await invoice.handler(orderSchema.parse(order) as never, context);
  if (!(result instanceof FileResult)) throw new Error("expected a file");
  return result;
}

const open = ({ bytes }: FileResult) => getDocumentProxy(new Uint8Array(bytes));

/** The text of each page, with every run of white space as one space. */
async function pagesOf(file: FileResult): Promise<string[]> {
  const { text } = await extractText(await open(file));
  return text.map((page) => page.replace(/\s+/gu, " "));
}

describe("the invoice", () => {
  it("the invoice is a PDF under the order's number", async () => {
    const { bytes, contentType, fileName } = await generate(await example("order.json"));
    expect(Buffer.from(bytes.subarray(0, 5)).toString()).toBe("%PDF-");
    expect(contentType).toBe("application/pdf");
    expect(fileName).toBe("invoice-INV-2026-0417.pdf");
    expect(bytes.byteLength).toBeLessThan(60 * 1024);
  });

  it("the file name is safe everywhere", async () => {
    const order = await example("order.json");
    expect((await generate({ ...order, number: "../№ 7/2026" })).fileName).toBe("invoice-..-7-2026.pdf");
    expect((await generate({ ...order, number: undefined })).fileName).toBe("invoice.pdf");
  });

  it("the invoice says what is owed, by whom, to whom and until when", async () => {
    const pages = await pagesOf(await generate(await example("order.json")));
    expect(pages).toHaveLength(1);
    for (const part of [
      "Northwind Studio LLC",
      "Contoso Coffee Roasters",
      "INV-2026-0417",
      "May 7, 2026",
      "Page 1 of 1",
    ]) {
      expect(pages[0]).toContain(part);
    }
    expect(pages[0]).toContain("Sales tax 8.875% on $372.50 $33.06");
    expect(pages[0]).toContain("Total $14,200.56");
  });

  it("the invoice prints names beyond Latin-1, and amounts as the locale writes them", async () => {
    const [page] = await pagesOf(await generate(await example("order-de.json")));
    for (const name of ["Łukasz Żółć", "Małgorzata Święcicka", "Михаил Булгаков", "Νίκος Καζαντζάκης"]) {
      expect(page).toContain(name);
    }
    expect(page).toContain("USt. 7 % auf 312,76 € 21,89 €");
    expect(page).toContain("Gesamtbetrag 2.058,82 €");
    expect(page).toContain("DE02 1203 0000 0000 2020 51");
  });

  it("the font has every character that an order may have", async () => {
    const characters = Array.from({ length: 0x2600 }, (_, code) => String.fromCodePoint(code)).filter(
      (character) => isPrintable(character) && /[\p{L}\p{N}\p{P}\p{S}]/u.test(character),
    );
    const notes = characters.join(" ");
    const pages = await pagesOf(await generate({ ...(await example("order.json")), notes }));
    // Characters of one look have one glyph, which is read back as the first of them.
    const looks = (text: string) => text.normalize("NFKC").replaceAll("\u2206", "\u0394").trim();
    const printed = looks(pages.join(" "));
    expect(characters.filter((character) => !printed.includes(looks(character)))).toEqual([]);
  });

  it("the properties have a title, an author and the day of issue", async () => {
    const { info } = await getMeta(await open(await generate(await example("order-de.json"))));
    expect(info).toMatchObject({
      Title: "Rechnung RE-2026-0231",
      Author: "Buchhandlung Grünwald & Söhne GmbH",
      CreationDate: "D:20260407000000Z",
      Language: "de-DE",
    });
  });

  it("the same order gives the same bytes", async () => {
    const order = await example("order-de.json");
    const [first, second] = [await generate(order), await generate(order)];
    expect(Buffer.compare(first.bytes, second.bytes)).toBe(0);
  });

  it("each page repeats the headings, and the totals stay together", async () => {
    const order = await example("order-de.json");
    const lines = Array.from({ length: 120 }, (_, index) => ({ ...order.lines[index % order.lines.length] }));
    const file = await generate({ ...order, lines });
    const pages = await pagesOf(file);
    expect(pages.length).toBeGreaterThan(3);
    pages.slice(0, -1).forEach((page, index) => {
      expect(page).toContain("Pos. Bezeichnung Menge");
      expect(page).toContain(`Seite ${index + 1} von ${pages.length}`);
    });
    expect(pages.slice(1).every((page) => page.includes("Rechnung RE-2026-0231"))).toBe(true);
    expect(pages.filter((page) => page.includes("Zwischensumme"))).toEqual(
      pages.filter((page) => page.includes("Gesamtbetrag 41.176,49 €")),
    );
    expect(file.bytes.byteLength).toBeLessThan(100 * 1024);
  });

  it("an invoice of 500 lines stays below the largest result", async () => {
    const order = await example("order-de.json");
    const description = "Ersatzteil für Förderanlage, Baureihe 7, mit Dichtungssatz";
    const lines = Array.from({ length: 500 }, (_, index) => ({
      description: `${description} ${index}`,
      unit_price: `${index}.99`,
      quantity: index + 0.5,
    }));
    expect((await generate({ ...order, lines })).bytes.byteLength).toBeLessThan(270 * 1024);
  });

  it("everything stays between the margins, also words longer than a line", async () => {
    const order = await example("order.json");
    const word = "M".repeat(100);
    const file = await generate({
      ...order,
      number: word.slice(0, 40),
      seller: { ...order.seller, name: word, address: [word], registration: word },
      buyer: { ...order.buyer, name: word, address: [word] },
      lines: [
        {
          description: word,
          details: word,
          unit: "M".repeat(12),
          quantity: "-999999.1234",
          unit_price: "999999.123456",
        },
      ],
      tax: { percent: "8.8755", name: word.slice(0, 20), note: word },
      payment: { iban: "DE02120300000000202051", terms: word, reference: word },
      notes: word.repeat(3),
    });
    const pdf = await open(file);
    const page = await pdf.getPage(1);
    const { items } = await page.getTextContent();
    const ends = items.map((item) => ("transform" in item ? item.transform[4] + item.width : 0));
    expect(Math.max(...ends)).toBeLessThanOrEqual(612 - 50 + 0.1);
  });
});

describe("an attempt", () => {
  it("progress only grows, up to 100", async () => {
    const seen: number[] = [];
    await generate(
      await example("order.json"),
      attempt((percent) => seen.push(percent)),
    );
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    expect(seen.at(-1)).toBe(100);
  });

  it("an aborted attempt ends with the signal's reason, before or while the pages are drawn", async () => {
    const order = await example("order.json");
    const reason = new Error("cancelled");
    await expect(generate(order, attempt(undefined, AbortSignal.abort(reason)))).rejects.toBe(reason);

    const controller = new AbortController();
    const seen: number[] = [];
    const context = attempt((percent) => {
      seen.push(percent);
      if (percent >= 50) controller.abort(reason);
    }, controller.signal);
    await expect(generate(order, context)).rejects.toBe(reason);
    expect(Math.max(...seen)).toBeLessThan(60);
  });
});

describe("the task's code", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "invoice-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const taskFile = join(root, "tasks/invoice.generate.ts");
  const bundle = (outdir: string, splitting: boolean) =>
    build({
      entryPoints: [taskFile],
      outdir,
      splitting,
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node24",
      outExtension: { ".js": ".mjs" },
      metafile: true,
      alias: entries,
      banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    });

  const shareEntries = new URL("../../src/installed/register-entries.ts", import.meta.url).href;

  /** Runs a module's task in a process of its own, away from any node_modules; returns the PDF. */
  async function runAlone(modulePath: string): Promise<Buffer> {
    const script = join(folder, "run.mjs");
    await writeFile(
      script,
      `import { readFileSync, writeFileSync } from "node:fs";
       await import(process.argv[4]);
       const { default: task } = await import(process.argv[2]);
       const context = { signal: AbortSignal.timeout(60_000), log: { info() {} }, progress() {} };
       const order = task.input.parse(JSON.parse(readFileSync(process.argv[3], "utf8")));
       writeFileSync("out.pdf", (await task.handler(order, context)).bytes);`,
    );
    const args = [script, pathToFileURL(modulePath).href, examplePath("order-de.json"), shareEntries];
    await promisify(execFile)(process.execPath, args, { cwd: folder });
    return readFile(join(folder, "out.pdf"));
  }

  it("the task runs from source, and as one bundled file with nothing beside it", async () => {
    const outdir = join(folder, "bundle");
    await bundle(outdir, false);
    const { bytes } = await generate(await example("order-de.json"));
    for (const modulePath of [taskFile, join(outdir, "invoice.generate.mjs")]) {
      expect(Buffer.compare(await runAlone(modulePath), bytes)).toBe(0);
    }
  });

  it("the PDF library is loaded only when a task runs", async () => {
    const { outputs } = (await bundle(join(folder, "split"), true)).metafile;
    const starts = Object.values(outputs).filter(({ entryPoint }) => entryPoint?.endsWith("invoice.generate.ts"));
    const imported = starts.flatMap(({ imports }) => imports.filter(({ kind }) => kind === "import-statement"));
    const loadedAtOnce = [...starts, ...imported.map(({ path }) => outputs[path])];
    const inputs = loadedAtOnce.flatMap((output) => Object.keys(output?.inputs ?? {}));
    expect(inputs.some((path) => path.includes("tasks/invoice/order.ts"))).toBe(true);
    expect(inputs.filter((path) => /node_modules\/(pdfmake|pdfkit|fontkit)\//u.test(path))).toEqual([]);
  });
});
