import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "video.convert",
  input: z.object({ bucket: z.string(), key: z.string(), bytes: z.number() }),
  handler: () => null,
});
