import { open } from "node:fs/promises";
import { join } from "node:path";
import { defineTask, file } from "offload";
import * as z from "zod";
import { encode, renditionName, sourceName } from "./lib/ffmpeg.ts";
import { inFolder } from "./lib/folder.ts";

export const renditionSchema = z.strictObject({ width: z.int(), height: z.int(), duration_s: z.number() });

/** A page checks such a file in memory before it sends it. */
export const sourceFile = { contentTypes: ["video/*"], maxBytes: 1_000_000_000 };

export default defineTask({
  name: "video.rendition",
  description: "Encodes a video in one size. The result is an MP4 file.",
  runsOn: "container",
  timeoutSeconds: 4 * 3_600,
  input: renditionSchema,
  files: { source: sourceFile },
  handler: (size, task) =>
    inFolder(task, async (folder) => {
      await task.files.source.saveTo(join(folder, sourceName));
      await encode(size, { folder, signal: task.signal }, task.progress);
      // It stays readable while it is open, also when the folder is removed. So nothing is left when the worker dies while it is sent.
      const rendition = await open(join(folder, renditionName));
      return file(rendition.createReadStream(), { contentType: "video/mp4", fileName: `${size.height}p.mp4` });
    }),
});
