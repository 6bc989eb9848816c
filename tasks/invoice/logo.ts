import { inflateSync } from "node:zlib";
import * as z from "zod";

/** Maximum length of a logo's data URL. It leaves room for the order in a task's message of 48 KiB. */
const longestUrl = 32_768;
/** Maximum width and height in pixels: a small file can contain a picture that needs much memory. */
const longestSide = 2_000;

const pngSignature = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
/** Channels of a pixel, by the colour type of a PNG. */
const pngChannels: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

const isSide = (pixels: number): boolean => pixels >= 1 && pixels <= longestSide;

/** The chunks of a PNG. Undefined: the file ends within a chunk. */
function chunksOf(png: Buffer): { type: string; data: Buffer }[] | undefined {
  const chunks: { type: string; data: Buffer }[] = [];
  for (let at = pngSignature.length; at < png.length; ) {
    if (at + 12 > png.length) return undefined;
    const length = png.readUInt32BE(at);
    const type = png.toString("latin1", at + 4, at + 8);
    at += 12 + length;
    if (at > png.length) return undefined;
    chunks.push({ type, data: png.subarray(at - 4 - length, at - 4) });
  }
  return chunks;
}

/** True when the compressed rows have the right length, and a known filter each. */
function hasRows(compressed: Buffer, rowBytes: number, height: number): boolean {
  const size = (rowBytes + 1) * height;
  try {
    const rows = inflateSync(compressed, { maxOutputLength: size });
    if (rows.length !== size) return false;
    for (let at = 0; at < size; at += rowBytes + 1) if ((rows[at] ?? 5) > 4) return false;
    return true;
  } catch {
    return false;
  }
}

/**
 * True for a PNG that the PDF library can draw. Everything is checked: the library decodes pixels in a callback, where
 * an error would end the worker.
 */
function isPng(file: Buffer): boolean {
  if (!file.subarray(0, 8).equals(pngSignature)) return false;
  const chunks = chunksOf(file);
  const [header] = chunks ?? [];
  if (header?.type !== "IHDR" || header.data.length !== 13 || chunks?.at(-1)?.type !== "IEND") return false;
  const [width, height] = [header.data.readUInt32BE(0), header.data.readUInt32BE(4)];
  const [bits, colorType = -1, compression, filter, interlace] = header.data.subarray(8);
  const channels = pngChannels[colorType];
  if (!isSide(width) || !isSide(height) || channels === undefined) return false;
  if (bits !== 8 || compression !== 0 || filter !== 0 || interlace !== 0) return false;
  const palette = chunks?.find(({ type }) => type === "PLTE")?.data.length ?? 0;
  if (colorType === 3 && (palette === 0 || palette > 768 || palette % 3 !== 0)) return false;
  const pixels = (chunks ?? []).filter(({ type }) => type === "IDAT").map(({ data }) => data);
  return hasRows(Buffer.concat(pixels), width * channels, height);
}

/** True for a start of a frame, which has the size: C0 to CF, but not C4, C8 and CC. */
const isFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

/** True for a JPEG with 8 bits per channel, in grey, RGB or CMYK. Readers of the PDF decode its pixels. */
function isJpeg(file: Buffer): boolean {
  if (file.length < 4 || file.readUInt16BE(0) !== 0xffd8) return false;
  for (let at = 2; at + 10 <= file.length; ) {
    const marker = file[at + 1] ?? 0;
    if (file[at] !== 0xff) return false;
    if (isFrame(marker)) {
      const [height, width] = [file.readUInt16BE(at + 5), file.readUInt16BE(at + 7)];
      return file[at + 4] === 8 && isSide(height) && isSide(width) && [1, 3, 4].includes(file[at + 9] ?? 0);
    }
    at += 2 + Math.max(2, file.readUInt16BE(at + 2));
  }
  return false;
}

function isPicture(url: string): boolean {
  const file = Buffer.from(url.slice(url.indexOf(",") + 1), "base64");
  return url.startsWith("data:image/png") ? isPng(file) : isJpeg(file);
}

/** A picture as a data URL. */
export const logo = z
  .string()
  .max(longestUrl)
  .regex(/^data:image\/(?:png|jpeg);base64,[A-Za-z0-9+/]+={0,2}$/u, {
    error: "expected a PNG or JPEG as a data URL, such as data:image/png;base64,iVBORw0KGgo...",
    abort: true,
  })
  .refine(isPicture, {
    error: `expected a picture of at most ${longestSide} pixels on each side: a JPEG, or a PNG with 8 bits per channel that is not interlaced`,
  });
