import { rejoinChild, spawnChild } from "../../../src/core/extras/children/child.ts";
import type { Part } from "../pipeline-ports.ts";

/** Children that a handler spawns or runs. */
export const children: Part = {
  ports: (ports) => ({ createChild: spawnChild(ports), rejoinChild: rejoinChild(ports) }),
};
