import { join } from "node:path";
import { defineTask } from "offload";
import * as z from "zod";
import { examine, sourceName } from "./lib/ffmpeg.ts";
import { inFolder } from "./lib/folder.ts";
import videoRendition, { renditionSchema, sourceFile } from "./video.rendition.ts";

export default defineTask({
  name: "video.encode",
  description: "Encodes an uploaded video in several sizes.",
  runsOn: "container",
  timeoutSeconds: 600,
  input: z.strictObject({ heights: z.array(z.int().min(16).max(4320).multipleOf(2)).min(1).max(6) }),
  files: { video: sourceFile },
  state: z.array(renditionSchema),
  children: {},
  handler: async ({ heights }, task) => {
    const { video } = task.files;
    const { width, height, duration_s } = await inFolder(task, async (folder) => {
      await video.saveTo(join(folder, sourceName));
      return examine({ folder, signal: task.signal });
    });
    // No rendition is larger than the video. Encoders need even numbers.
    const even = (pixels: number) => Math.max(2, Math.round(pixels / 2) * 2);
    const sizes = [...new Set(heights.map((wanted) => Math.min(wanted, even(height))))];
    const renditions = sizes.map((size) => ({ width: even((size * width) / height), height: size, duration_s }));
    // For `aggregate`: the result of a child is its file.
    await task.checkpoint(renditions);
    await task.spawnAll(videoRendition, renditions, { key: nameOf, files: { source: video } });
  },
  aggregate: async ({ results }, { state = [] }) => {
    const ids = new Map<string, string>();
    for await (const { key, taskId } of results()) ids.set(key, taskId);
    return state.map((rendition) => ({
      name: nameOf(rendition),
      url: `/renditions/${ids.get(nameOf(rendition))}`,
      duration_s: rendition.duration_s,
      resolution: `${rendition.width}x${rendition.height}`,
    }));
  },
});

const nameOf = ({ height }: { height: number }) => `${height}p`;
