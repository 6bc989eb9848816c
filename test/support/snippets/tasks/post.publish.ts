import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "post.publish",
  input: z.strictObject({ post: z.int() }),
  handler: async ({ post }) => post,
});
