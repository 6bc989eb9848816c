import { defineTask } from "offload";
import * as z from "zod";

/* A copy of ../../tasks/invoice.send.ts with mistakes on purpose: five of the ten that the review finds. */
export default defineTask({
  name: "invoice.send",
  // 1. No description.
  input: z.object({
    id: z.string().max(40),
    // 2. A text and a list without a bound.
    email: z.string(),
    // 3. Any value.
    lines: z.array(z.any()),
  }),
  // 4. All waits are equal, and without jitter.
  retry: {
    waitsSeconds: [60, 60, 60],
    jitter: "none",
    // 5. An address that does not exist is tried again.
    kinds: { permanent: { waitsSeconds: [60] } },
  },
  handler: () => null,
});
