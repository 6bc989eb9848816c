import { readFileSync } from "node:fs";
import { crc32, deflateSync } from "node:zlib";
import { getDocumentProxy, getResolvedPDFJS } from "unpdf";
import { describe, expect, it } from "vitest";
import { invoiceDocument } from "../../tasks/invoice/document.ts";
import { draw } from "../../tasks/invoice/draw.ts";
import { logo } from "../../tasks/invoice/logo.ts";
import { orderSchema } from "../../tasks/invoice/order.ts";

interface Png {
  width?: number;
  height?: number;
  bits?: number;
  colorType?: number;
  interlace?: number;
  rows?: Buffer;
  palette?: Buffer;
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

const channels: Record<number, number> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

function png({ width = 20, height = 10, bits = 8, colorType = 6, interlace = 0, ...parts }: Png = {}): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([bits, colorType, 0, 0, interlace], 8);
  const rows = parts.rows ?? Buffer.alloc((width * (channels[colorType] ?? 1) + 1) * height);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", header),
    ...(parts.palette === undefined ? [] : [chunk("PLTE", parts.palette), chunk("tRNS", Buffer.from([0]))]),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** The start of a JPEG: enough for its size. */
const jpeg = (width: number, height: number, bits = 8, colors = 3): Buffer =>
  Buffer.from([
    ...[0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0],
    ...[0xff, 0xc0, 0, 17, bits, height >> 8, height & 255, width >> 8, width & 255, colors],
    ...Array(12).fill(0),
    ...[0xff, 0xd9],
  ]);

const urlOf = (file: Buffer, type = "png") => `data:image/${type};base64,${file.toString("base64")}`;

const example = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../examples/${name}`, import.meta.url), "utf8")) as Record<string, object>;

async function pageOf(order: unknown) {
  const parsed = orderSchema.parse(order);
  const definition = invoiceDocument({ ...parsed, issue_date: parsed.issue_date ?? "2027-01-01" });
  const pdf = await draw(definition, { signal: new AbortController().signal, progress: () => undefined });
  return (await getDocumentProxy(new Uint8Array(pdf))).getPage(1);
}

/** Width and height in points of each picture on a page. */
async function picturesOn(page: Awaited<ReturnType<typeof pageOf>>): Promise<[number, number][]> {
  const { OPS } = await getResolvedPDFJS();
  const { fnArray, argsArray } = await page.getOperatorList();
  return fnArray.flatMap((operation, index) => {
    if (operation !== OPS.paintImageXObject) return [];
    const [a, , , d] = Array.from(argsArray[fnArray.lastIndexOf(OPS.transform, index)].flat(2) as number[]);
    return [[Math.round(Math.abs(a ?? 0)), Math.round(Math.abs(d ?? 0))] as [number, number]];
  });
}

const withLogo = (url: string) => {
  const order = example("order.json");
  return { ...order, seller: { ...order.seller, logo: url } };
};

describe("the logo", () => {
  it.each([
    ["wide", 400, 50, [180, 23]],
    ["high", 30, 300, [4, 42]],
    ["small", 18, 10, [76, 42]],
  ])("a %s logo is drawn in a bounded size, with its proportions", async (_, width, height, size) => {
    expect(await picturesOn(await pageOf(withLogo(urlOf(png({ width, height })))))).toEqual([size]);
  });

  it.each([0, 2, 3, 4, 6])("a PNG of the colour type %i is drawn", async (colorType) => {
    const palette = colorType === 3 ? { palette: Buffer.from([1, 2, 3]) } : {};
    expect(await picturesOn(await pageOf(withLogo(urlOf(png({ colorType, ...palette })))))).toEqual([[84, 42]]);
  });

  it("a JPEG is accepted", async () => {
    expect(await picturesOn(await pageOf(withLogo(urlOf(jpeg(200, 100), "jpeg"))))).toEqual([[84, 42]]);
  });

  it("an invoice without a logo has no picture", async () => {
    expect(await picturesOn(await pageOf(example("order-de.json")))).toEqual([]);
  });

  it.each<[reason: string, url: string]>([
    ["a URL", "https://example.com/logo.png"],
    ["another type of picture", "data:image/svg+xml;base64,PHN2Zy8+"],
    ["text that is not base64", "data:image/png;base64,%%%"],
    ["a PNG that is named JPEG", urlOf(png(), "jpeg")],
    ["a file that is not a picture", urlOf(Buffer.from("hello"))],
    ["a PNG without its end", urlOf(png().subarray(0, 60))],
    ["a PNG without its last chunk", urlOf(png().subarray(0, -12))],
    ["a PNG with too few rows", urlOf(png({ rows: Buffer.alloc(30) }))],
    ["a PNG with too many rows", urlOf(png({ rows: Buffer.alloc(100_000) }))],
    ["a PNG with an unknown filter", urlOf(png({ rows: Buffer.alloc(81 * 10, 9) }))],
    ["a PNG that is too wide", urlOf(png({ width: 2001, height: 1 }))],
    ["an interlaced PNG", urlOf(png({ interlace: 1 }))],
    ["a PNG with 16 bits", urlOf(png({ bits: 16 }))],
    ["a PNG without its palette", urlOf(png({ colorType: 3 }))],
    ["a JPEG that is too high", urlOf(jpeg(10, 2001), "jpeg")],
    ["a JPEG with 12 bits", urlOf(jpeg(10, 10, 12), "jpeg")],
    ["a JPEG without a frame", urlOf(Buffer.from([0xff, 0xd8, 0xff, 0xd9]), "jpeg")],
    ["a data URL that is too long", `data:image/png;base64,${"A".repeat(33_000)}`],
  ])("the logo is refused for %s", (_, url) => {
    expect(logo.safeParse(url).error?.issues[0]?.message).toMatch(/expected/);
  });
});

describe("the payment page", () => {
  const captions = async (order: unknown) => {
    const { items } = await (await pageOf(order)).getTextContent();
    return items.flatMap((item) => ("str" in item ? [item.str] : [])).join("");
  };

  it("the payment page is a link, and no other link is on the page", async () => {
    const links = (await (await pageOf(example("order.json"))).getAnnotations()) as { url?: string }[];
    expect(new Set(links.map(({ url }) => url))).toEqual(new Set(["https://pay.northwind.example/i/INV-2026-0417"]));
  });

  it("an order has the code of its payment page beside the GiroCode", async () => {
    const order = example("order-de.json");
    const payment = { ...order.payment, url: "https://zahlen.example.com/r/7" };
    expect(await captions({ ...order, payment })).not.toMatch(/Scannen und zahlen.*Online bezahlen/);
    expect(await captions({ ...order, payment: { ...payment, qr: true } })).toMatch(
      /Scannen und zahlen.*Online bezahlen/,
    );
  });

  it.each([
    ["http", { url: "http://pay.example.com" }],
    ["javascript", { url: "javascript:alert(1)" }],
    ["a user name", { url: "https://bank.example.com@evil.example" }],
    ["spaces", { url: "https://pay.example.com/a b" }],
    ["over 300 characters", { url: `https://pay.example.com/${"a".repeat(300)}` }],
    ["a code without a URL", { qr: true }],
  ])("a payment page is refused for %s", (_, payment) => {
    const { error } = orderSchema.safeParse({ ...example("order-de.json"), payment });
    expect(error?.issues[0]?.path).toEqual(["payment", "url"]);
  });
});
