import pdfmake from "pdfmake";
import fonts from "pdfmake/build/vfs_fonts.js";
import type { TDocumentDefinitions } from "pdfmake/interfaces.js";

/** pdfmake reads fonts from its own file system, which its types lack. Its font files are a module, so a bundle contains them. */
const { virtualfs } = pdfmake as unknown as { virtualfs: { writeFileSync(name: string, content: Uint8Array): void } };

const fontFiles = { normal: "Roboto-Regular.ttf", bold: "Roboto-Medium.ttf" };
for (const name of Object.values(fontFiles)) virtualfs.writeFileSync(name, Buffer.from(fonts[name] ?? "", "base64"));
pdfmake.setFonts({ Roboto: fontFiles });
pdfmake.setUrlAccessPolicy(() => false);
pdfmake.setLocalAccessPolicy(() => false);

export const drawPdf = (document: TDocumentDefinitions): Promise<Uint8Array> => pdfmake.createPdf(document).getBuffer();
