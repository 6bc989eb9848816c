import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { defineTask, file } from "offload";
import { testKit } from "offload/testing";
import { describe, expect, test } from "vitest";
import videoEncode from "../tasks/video.encode.ts";
import videoRendition from "../tasks/video.rendition.ts";
import { inUnknownCodec, makeVideo, noFfmpeg } from "./videos.ts";

const types = [videoEncode, videoRendition];
const kit = () => testKit(types, { patienceMs: 60_000 });
const filesOf = (bytes: string | Uint8Array<ArrayBuffer>) => ({
  video: new File([bytes], "video.mp4", { type: "video/mp4" }),
});
const foldersLeft = () => readdirSync(tmpdir()).filter((name) => /^video-[0-9a-f]{8}-/.test(name));

describe.skipIf(noFfmpeg)("a video", () => {
  test("has one rendition of each size, wherever the worker dies", { timeout: 300_000 }, async () => {
    const files = filesOf(makeVideo({ seconds: 1, size: "64x48" }));
    // A rendition without ffmpeg: the kit cannot stop a process of a worker that dies. test/system.test.ts kills a real worker.
    const { name, input, files: sources } = videoRendition;
    const handler = () => file(Buffer.from("video"), { contentType: "video/mp4", fileName: "video.mp4" });
    const rendition = defineTask({ name, input, files: sources, handler });
    await testKit([videoEncode, rendition], { patienceMs: 60_000 }).crashEverywhere(
      videoEncode,
      { heights: [48, 24] },
      ({ status, result, children }) => {
        expect(status).toBe("completed");
        expect(result).toEqual([
          { name: "48p", url: `/renditions/${children[0]?.taskId}`, duration_s: 1, resolution: "64x48" },
          { name: "24p", url: `/renditions/${children[1]?.taskId}`, duration_s: 1, resolution: "32x24" },
        ]);
        expect(children).toHaveLength(2);
      },
      { files },
    );
    expect(foldersLeft()).toEqual([]);
  });

  test("is never made larger", { timeout: 60_000 }, async () => {
    const files = filesOf(makeVideo({ seconds: 1, size: "64x48" }));
    const { result } = await kit().run(videoEncode, { heights: [1080, 720, 24] }, { files });
    expect(result).toMatchObject([{ resolution: "64x48" }, { resolution: "32x24" }]);
  });

  const playlist = (url: string) => `#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n${url}\n#EXT-X-ENDLIST\n`;
  test.each<[string, () => string | Uint8Array<ArrayBuffer>, RegExp]>([
    ["a text", () => "This is not a video.", /Invalid data found when processing input/],
    ["the beginning of a video", () => makeVideo().subarray(0, 10_000), /^moov atom not found$/],
    ["an unknown codec", () => inUnknownCodec(makeVideo()), /^Decoder .* not found/],
    ["a playlist of a file", () => playlist("file:///etc/passwd"), /^Format not on whitelist/],
    ["a playlist of a URL", () => playlist("http://127.0.0.1:9/"), /^Format not on whitelist/],
    ["a list of files", () => "ffconcat version 1.0\nfile /etc/passwd\n", /^Format not on whitelist/],
  ])("that is %s fails permanently with ffmpeg's reason", { timeout: 60_000 }, async (_, bytes, reason) => {
    const outcome = await kit().run(videoEncode, { heights: [24] }, { files: filesOf(bytes()) });
    expect(outcome).toMatchObject({ status: "failed", errorKind: "permanent", error: expect.stringMatching(reason) });
    expect(outcome.attempts).toHaveLength(1);
    expect(outcome.children).toEqual([]);
    expect(foldersLeft()).toEqual([]);
  });
});
