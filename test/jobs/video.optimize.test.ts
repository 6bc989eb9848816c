import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import { world } from "./tasks/lib/world.ts";
import optimizeVideo from "./tasks/video.optimize.ts";

const video = (bytes: string) => ({ video: new File([bytes], "talk.mp4", { type: "video/mp4" }) });

test("a video is optimized by another program", async () => {
  world.begin();
  process.env.FFMPEG = "/bin/cp";
  const { result } = await testKit([optimizeVideo]).run(optimizeVideo, { versionId: "v" }, { files: video("frames") });
  expect(new TextDecoder().decode((result as { bytes: Uint8Array }).bytes)).toBe("frames");
  expect(world.of("db/version/update")).toHaveLength(1);
});

test("a program that fails leaves a dead letter and no folder", async () => {
  world.begin();
  process.env.FFMPEG = "/bin/false";
  const outcome = await testKit([optimizeVideo]).run(optimizeVideo, { versionId: "v" }, { files: video("frames") });
  expect(outcome).toMatchObject({ status: "failed", deadLetter: true, attempts: { length: 5 } });
  expect(world.of("db/version/update")).toHaveLength(0);
});
