import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { PermanentError } from "offload";
import * as z from "zod";

/** Names of a task's files in its folder, in which ffmpeg runs: so its messages have no path of the machine. */
export const sourceName = "source";
export const renditionName = "rendition.mp4";

/** Size of a rendition. */
export interface Size {
  width: number;
  height: number;
}

/**
 * Limits for files of strangers. Playlists make ffmpeg read other files and URLs: none of these formats is one, and nothing but files can be
 * read. A picture may have at most the pixels of 8K.
 */
const limits = [
  ...["-v", "error", "-protocol_whitelist", "file,pipe"],
  ...["-format_whitelist", "mov,matroska,avi,mpegts,mpeg,flv,ogg"],
  ...["-max_pixels", String(7680 * 4320)],
];

/** Linux ends ffmpeg when its worker dies, also by SIGKILL. */
const endsWithWorker = process.platform === "linux" ? ["setpriv", "--pdeathsig", "KILL"] : [];

/** Failures of the machine, which another attempt may not meet. All others are the file's. */
const ofTheMachine = /No space left|Cannot allocate memory|Resource temporarily unavailable/;

interface Options {
  folder: string;
  signal: AbortSignal;
}

/**
 * Runs ffmpeg or ffprobe in a folder, and kills it when the signal aborts. Returns when the process has ended.
 * @throws PermanentError with ffmpeg's reason; the signal's reason
 */
async function run(args: string[], { folder, signal }: Options, onLine: (line: string) => void): Promise<void> {
  const [command = "", ...given] = [...endsWithWorker, ...args];
  const child = spawn(command, given, {
    cwd: folder,
    signal,
    killSignal: "SIGKILL",
    stdio: ["ignore", "pipe", "pipe"],
  });
  let fault: Error | undefined;
  child.on("error", (error) => {
    fault = error;
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(0, 4_000);
  });
  createInterface(child.stdout).on("line", onLine);
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  signal.throwIfAborted();
  if (fault !== undefined) throw fault;
  if (code === 0) return;
  // 126 and 127: there is no such program. Null: a signal ended it, such as that of a machine without memory.
  const reason = reasonIn(errors) ?? `${args[0]} ended with ${code ?? child.signalCode}`;
  if (code === null || code === 126 || code === 127 || ofTheMachine.test(errors)) throw new Error(reason);
  throw new PermanentError(reason);
}

/** The first line that ffmpeg wrote, without the address in it: the later ones only say what follows from it. */
const reasonIn = (errors: string): string | undefined =>
  errors
    .split("\n")
    .map((line) => line.replace(/^(\[[^\]]* @ 0x[0-9a-f]+\] )+/, "").trim())
    .find((line) => line !== "");

const factsSchema = z.object({
  streams: z.tuple([
    z.object({
      width: z.int(),
      height: z.int(),
      side_data_list: z.array(z.object({ rotation: z.number().optional() })).default([]),
    }),
  ]),
  format: z.object({ duration: z.coerce.number() }),
});

/**
 * Reads the length and the size of a video, as a player shows it, and decodes its first picture.
 * @throws PermanentError when ffmpeg cannot decode it
 */
export async function examine(options: Options): Promise<Size & { duration_s: number }> {
  const first = ["-i", sourceName, "-map", "0:v:0", "-frames:v", "1", "-f", "null", "-"];
  await run(["ffmpeg", "-nostdin", ...limits, ...first], options, () => {});
  let json = "";
  const entries = "format=duration:stream=width,height:stream_side_data=rotation";
  const facts = ["-select_streams", "v:0", "-show_entries", entries, "-of", "json", sourceName];
  await run(["ffprobe", ...limits, ...facts], options, (line) => {
    json += line;
  });
  const { data } = factsSchema.safeParse(JSON.parse(json));
  if (data === undefined) throw new PermanentError("the file does not say how long it is");
  const [{ width, height, side_data_list: sides }] = data.streams;
  const isTurned = sides.some(({ rotation = 0 }) => rotation % 180 !== 0);
  const size = isTurned ? { width: height, height: width } : { width, height };
  return { ...size, duration_s: data.format.duration };
}

/** Encodes the source in a size, as MP4 that plays before it is loaded. Reports 0 to 100. */
export async function encode(
  { width, height, duration_s }: Size & { duration_s: number },
  options: Options,
  report: (percent: number) => void,
): Promise<void> {
  const video = ["-map", "0:v:0", "-vf", `scale=${width}:${height}`, "-c:v", "libx264", "-preset", "veryfast"];
  const audio = ["-map", "0:a:0?", "-c:a", "aac"];
  const output = ["-pix_fmt", "yuv420p", "-movflags", "+faststart", "-progress", "pipe:1", "-y", renditionName];
  await run(["ffmpeg", "-nostdin", ...limits, "-i", sourceName, ...video, ...audio, ...output], options, (line) => {
    const microseconds = /^out_time_us=(\d+)$/.exec(line)?.[1];
    if (microseconds !== undefined) report(Math.min(100, Number(microseconds) / 10_000 / duration_s));
  });
}
