/** The part of pdfmake's printer that is used here. The types of the package cover only its global instance. */
declare module "pdfmake/js/Printer.js" {
  import type { TDocumentDefinitions, TFontDictionary } from "pdfmake/interfaces.js";

  class Printer {
    constructor(
      fonts: TFontDictionary,
      files: { existsSync(name: string): boolean; readFileSync(name: string): Uint8Array | undefined },
      urls: { resolve(url: string): void; resolved(): Promise<void> },
      mayReadLocalFile: (path: string) => boolean,
    );
    createPdfKitDocument(
      definition: TDocumentDefinitions,
      options: { progressCallback: (done: number) => void },
    ): Promise<NodeJS.ReadableStream & { end(): void }>;
  }

  /** A CommonJS module. Some loaders unwrap its default export, others do not. */
  const loaded: typeof Printer | { readonly default: typeof Printer };
  export default loaded;
}
