import { defineTask, file } from "offload";
import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import * as z from "zod";

const shout = defineTask({
  name: "text.shout",
  input: z.strictObject({}),
  files: { text: { contentTypes: ["text/plain"], maxBytes: 1_000_000 } },
  handler: async (_, { files: { text } }) => {
    const loud = new TextDecoder().decode(await text.bytes()).toUpperCase();
    return file(new TextEncoder().encode(loud), { contentType: "text/plain", fileName: `loud-${text.fileName}` });
  },
});

test("a text is made loud, wherever the worker dies", async () => {
  const files = { text: new File(["hello"], "a.txt", { type: "text/plain" }) };
  await testKit([shout]).crashEverywhere(
    shout,
    {},
    ({ result }) => {
      expect(result?.fileName).toBe("loud-a.txt");
      expect(new TextDecoder().decode(result?.bytes)).toBe("HELLO");
    },
    { files },
  );
});
