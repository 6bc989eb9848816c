import { defineTask } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

const importSome = defineTask({
  name: "pages.import_some",
  input: z.strictObject({ importId: z.string(), pages: z.array(z.string()).max(3) }),
  maxAttempts: 3,
  retry: { baseSeconds: 60 },
  children: { stopOnFailure: true },
  handler: async ({ importId, pages }, task): Promise<void> => {
    const found: string[] = [];
    for (const page of pages) {
      const { links } = await call<{ links: string[] }>("wiki/page", { page });
      await call("db/document", { importId, page }, `${importId}/${page}`);
      found.push(...links);
    }
    for (let i = 0; i < found.length; i += 3) {
      await task.spawn(importSome, { importId, pages: found.slice(i, i + 3) }, { key: `${i}` });
    }
  },
  aggregate: ({ completed }) => ({ completed }),
});

export default importSome;
