import { defineTask } from "offload";
import { strayOptions } from "../culprits.ts";

export default defineTask({ name: "stray.work", ...strayOptions });
