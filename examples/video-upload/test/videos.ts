import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export const noFfmpeg = ["ffmpeg", "ffprobe"].some(
  (program) => spawnSync(program, ["-version"], { timeout: 120_000 }).status !== 0,
);
if (noFfmpeg) console.warn("\n!!! NO FFMPEG: THE VIDEO EXAMPLE IS NOT TESTED. Install ffmpeg. !!!\n");

/** A folder that the test's end deletes. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "video-upload-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function call(program: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8", timeout: 120_000 });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${stderr}`);
  return stdout;
}

/** A test picture with a tone, as MP4. Each call makes other bytes. */
export function makeVideo({ seconds = 2, size = "320x240" } = {}): Buffer<ArrayBuffer> {
  const path = join(temporaryFolder(), "video.mp4");
  const picture = ["-f", "lavfi", "-i", `testsrc2=duration=${seconds}:size=${size}:rate=25`];
  const tone = ["-f", "lavfi", "-i", `sine=duration=${seconds}`, "-c:a", "aac"];
  const output = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-y", path];
  call("ffmpeg", "-v", "error", ...picture, ...tone, "-metadata", `comment=${crypto.randomUUID()}`, ...output);
  return readFileSync(path);
}

/** The same video with a box after it that players skip. */
export function enlarged(video: Uint8Array, bytes: number): Buffer<ArrayBuffer> {
  const free = Buffer.alloc(bytes - video.byteLength);
  free.writeUInt32BE(free.byteLength);
  free.write("free", 4);
  return Buffer.concat([video, free]);
}

/** The same video in a codec that nobody knows. */
export const inUnknownCodec = (video: Buffer): Buffer<ArrayBuffer> =>
  Buffer.from(video.toString("latin1").replaceAll("avc1", "zzzz"), "latin1");

/** Facts about a file's first video stream. */
export function probe(path: string): { codec: string; width: number; height: number; duration: number } {
  const entries = "format=duration:stream=codec_name,width,height";
  const json = call("ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", entries, "-of", "json", path);
  const { streams, format } = JSON.parse(json);
  const { codec_name: codec, width, height } = streams[0];
  return { codec, width, height, duration: Number(format.duration) };
}
