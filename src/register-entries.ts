import { shareEntries } from "./share-entries.ts";

/* For `node --import`: a program of the repository may then import the package's entries, as its task files do. */
shareEntries();
