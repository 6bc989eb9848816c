import { supersede } from "../../../src/core/control/cancel-others.ts";
import { unique as follower } from "../../../src/core/extras/unique/index.ts";
// Loaded before it is used: time that a test moves does not wait for code.
import "../../../src/core/extras/unique/next.ts";
import { submitUnique } from "../../../src/core/extras/unique/submit-unique.ts";
import { inRole } from "../in-role.ts";
import type { Part } from "../pipeline-ports.ts";

/** Unique keys of tasks. */
export const unique: Part = {
  follower,
  ports: (ports) => ({
    submitUnique,
    supersede: (record, envelope) => supersede(inRole("submit", ports), record, envelope),
  }),
};
