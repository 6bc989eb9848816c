import { entries } from "./installation.ts";
import { registerEntries } from "./registration.ts";

/* For `node --import`: a program of the repository may then import the package's entries, as its task files do. */

registerEntries(entries);
