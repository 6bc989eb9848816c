import pdfmake from "pdfmake";
import fonts from "pdfmake/build/vfs_fonts.js";
import { money, type Order, totalCents } from "./order.ts";

/** pdfmake reads fonts from its own file system, which its types lack. Its font files are a module, so a bundle contains them. */
const { virtualfs } = pdfmake as unknown as { virtualfs: { writeFileSync(name: string, content: Uint8Array): void } };

const fontFiles = { normal: "Roboto-Regular.ttf", bold: "Roboto-Medium.ttf" };
for (const name of Object.values(fontFiles)) virtualfs.writeFileSync(name, Buffer.from(fonts[name] ?? "", "base64"));
pdfmake.setFonts({ Roboto: fontFiles });
pdfmake.setUrlAccessPolicy(() => false);
pdfmake.setLocalAccessPolicy(() => false);

/** Draws an order's invoice. */
export async function drawInvoice(order: Order): Promise<Buffer> {
  const rows = order.lines.map(({ title, quantity, cents }) => [title, `${quantity}`, money(quantity * cents)]);
  const pdf = await pdfmake
    .createPdf({
      content: [
        { text: `Invoice ${order.id}`, fontSize: 20, bold: true },
        { text: order.name, margin: [0, 0, 0, 20] },
        { table: { widths: ["*", "auto", "auto"], body: [["Item", "Number", "Sum"], ...rows] } },
        { text: `Total ${money(totalCents(order))}`, bold: true, margin: [0, 20, 0, 0] },
      ],
    })
    .getBuffer();
  return Buffer.from(pdf);
}
