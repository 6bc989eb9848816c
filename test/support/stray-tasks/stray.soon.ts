import { defineTask } from "offload";
import { strayOptions } from "../culprits.ts";

/** Its time is over soon. */
export default defineTask({ name: "stray.soon", ...strayOptions, timeoutSeconds: 1 });
