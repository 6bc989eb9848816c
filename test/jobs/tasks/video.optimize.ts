import { execFile } from "node:child_process";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { defineTask, file, withOutcome } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

export default defineTask({
  name: "video.optimize",
  runsOn: "container",
  timeoutSeconds: 3_600,
  input: z.strictObject({ versionId: z.string() }),
  files: { video: { contentTypes: ["video/*"], maxBytes: 5_000_000_000 } },
  handler: async ({ versionId }, { signal, files: { video } }) => {
    if (video.sizeBytes > 500 * 1024 * 1024) return withOutcome("TOO_LARGE", null);
    const folder = await mkdtemp(join(tmpdir(), "video-"));
    try {
      const [from, to] = [join(folder, "in.mp4"), join(folder, "out.mp4")];
      await video.saveTo(from);
      await promisify(execFile)(process.env.FFMPEG ?? "ffmpeg", [from, to], { signal });
      await call("db/version/update", { versionId });
      // It is open, so it can be read when its folder is gone.
      const optimized = await open(to);
      return file(optimized.createReadStream(), { contentType: "video/mp4", fileName: "optimized.mp4" });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
});
