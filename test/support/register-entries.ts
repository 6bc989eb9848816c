import { codeFile, entries } from "../../src/installed/installation.ts";
import { registerEntries } from "../../src/installed/registration.ts";

/* For `node --import`: tests import the package's entries as its users do, and get its sources. */

registerEntries({
  ...entries,
  "offload/testing": codeFile("src/entries/testing"),
  "offload/cdk": codeFile("lib/index"),
  "offload/direct": codeFile("src/direct/index"),
});
