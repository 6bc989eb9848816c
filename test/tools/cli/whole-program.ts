import { run } from "../../../src/tools/cli/main.ts";
import { commandLine } from "./stub-api.ts";

/** The program with all its commands. */
export const { bare, offload } = commandLine(run);
