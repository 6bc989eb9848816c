import { buffer } from "node:stream/consumers";
import type { TDocumentDefinitions } from "pdfmake/interfaces.js";

/** How a drawing is watched and stopped. */
export interface DrawOptions {
  /** Stops the drawing, with its reason: before the pages are laid out, between any two elements of a page, at the end. */
  signal: AbortSignal;
  /** Told how much is done, 0 to 100, never less than before. */
  progress: (percent: number) => void;
}

const fonts = { Roboto: { normal: "Roboto-Regular.ttf", bold: "Roboto-Medium.ttf" } };

/** The definition can name neither addresses nor files, so none are ever read. */
const noUrls = { resolve: () => undefined, resolved: async () => undefined };
const noLocalFiles = () => false;

/**
 * Loads the PDF library at the first call. Its fonts are a module of base64 text, so a bundle needs no files beside it;
 * and no standard PDF font is ever used, whose metrics would have to be read from files.
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

/** Draws a document definition as a PDF. Throws the signal's reason when it is aborted. */
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
