import { optionsVariable, type ProcessOptions } from "./describe.ts";
import { sayStrayErrors, writeDescription } from "./write-description.ts";

/*
 * Loads a project's built code in a process of its own, because a process never forgets a loaded module, and because
 * code may end its process. Writes the description to a file.
 */

const options = JSON.parse(process.env[optionsVariable] ?? "") as ProcessOptions;
delete process.env[optionsVariable];

// The caller reads this output if the process ends all the same.
sayStrayErrors();
await writeDescription(options, process.env);
// Code that was loaded may keep timers and connections.
process.exit(0);
