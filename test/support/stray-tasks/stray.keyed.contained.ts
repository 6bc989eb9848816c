import { defineTask } from "offload";
import { rejectingKey, strayOptions } from "../culprits.ts";

export default defineTask({
  name: "stray.keyed.contained",
  ...strayOptions,
  concurrency: { key: rejectingKey, limit: 1 },
  runsOn: "container",
});
