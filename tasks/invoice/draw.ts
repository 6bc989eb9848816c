import { buffer } from "node:stream/consumers";
import type { TDocumentDefinitions } from "pdfmake/interfaces.js";

export interface DrawOptions {
  /** Stops the drawing. It is checked before the layout, between two elements of a page, and at the end. */
  signal: AbortSignal;
  /** Called with the progress in percent, 0 to 100. The progress never decreases. */
  progress: (percent: number) => void;
}

const fonts = { Roboto: { normal: "Roboto-Regular.ttf", bold: "Roboto-Medium.ttf" } };

/** Pictures are data URLs, and links are only written, so the library reads neither URLs nor files. */
const noUrls = { resolve: () => undefined, resolved: async () => undefined };
const noLocalFiles = () => false;

/**
 * Loads the PDF library. Its fonts are a module of base64 text, so a bundle needs no other files. No standard PDF font
 * is used, because the library would read the metrics of a standard font from files.
 */
async function loadPrinter() {
  const [{ default: loaded }, { default: encoded }] = await Promise.all([
    import("pdfmake/js/Printer.js"),
    import("pdfmake/build/vfs_fonts.js"),
  ]);
  const Printer = typeof loaded === "function" ? loaded : loaded.default;
  const base64 = new Map<string, unknown>(Object.entries(encoded));
  const files = new Map(
    Object.values(fonts.Roboto).map((name) => [name, Buffer.from(String(base64.get(name)), "base64")]),
  );
  const store = {
    existsSync: (name: string) => files.has(name),
    readFileSync: (name: string) => files.get(name),
  };
  return () => new Printer(structuredClone(fonts), store, noUrls, noLocalFiles);
}

let loading: ReturnType<typeof loadPrinter> | undefined;

/** Draws a document definition as a PDF. Throws the signal's reason when the signal aborts. */
export async function draw(definition: TDocumentDefinitions, { signal, progress }: DrawOptions): Promise<Uint8Array> {
  loading ??= loadPrinter();
  const newPrinter = await loading;
  signal.throwIfAborted();
  progress(10);
  const document = await newPrinter().createPdfKitDocument(definition, {
    progressCallback: (done) => {
      signal.throwIfAborted();
      progress(30 + Math.floor(done * 60));
    },
  });
  const bytes = buffer(document);
  document.end();
  const pdf = await bytes;
  signal.throwIfAborted();
  progress(100);
  return pdf;
}
