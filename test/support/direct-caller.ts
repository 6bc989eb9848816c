import { createDirectClient } from "../../src/direct/index.ts";

/* A function of a user that submits directly. `emulated-app.ts` deploys it in a stack of its own. */

const offload = createDirectClient({ tenant: "acme", principal: "shop" });

/** Returns the accepted task, or the code of the refusal. */
export const handler = ({ type, input, options }: { type: string; input: unknown; options?: object }) =>
  offload.submit(type, input, options).catch((error: Error & { code?: string }) => {
    if (error.code === undefined) throw error;
    return { code: error.code };
  });
