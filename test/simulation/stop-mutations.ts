import type { Mutation } from "./mutation.ts";

const test = "test/core/extras/children/stop-on-failure.test.ts";
const deaths = "test/core/extras/children/stop-deaths.test.ts";

/** Each lets a family run on after its threshold is lost, or stops it too early. */
export const stopMutations: readonly Mutation[] = [
  {
    name: "stop: the end of a child stops nothing",
    file: "pipeline/end/close-family.ts",
    in: "countEnd",
    find: "stopAfterEnd(ports, parent, child, node)",
    replace: "stopAfterEnd",
    test,
  },
  {
    name: "stop: the parent's wait does not look at earlier failures",
    file: "pipeline/end/close-family.ts",
    in: "closeIfFull",
    find: "stopIfLost(ports, parent)",
    replace: "stopIfLost",
    test,
  },
  {
    name: "stop: one failure too many is allowed",
    file: "pipeline/end/stop-family.ts",
    in: "isLost",
    find: "total - failuresIn(node) < neededOf(parent, total)",
    replace: "total - failuresIn(node) + 1 < neededOf(parent, total)",
    test,
  },
  {
    name: "stop: one failure too few is allowed",
    file: "pipeline/end/stop-family.ts",
    in: "isLost",
    find: "total - failuresIn(node) < neededOf(parent, total)",
    replace: "total - failuresIn(node) <= neededOf(parent, total)",
    test,
  },
  {
    name: "stop: the failures of all rounds are counted together",
    file: "pipeline/end/stop-family.ts",
    in: "noteFailures",
    find: "failuresText(node, parent.round)",
    replace: "failuresText(node, 1)",
    test,
  },
  {
    name: "stop: the failures of a leaf before its seal are not noted",
    file: "extras/children/spawner.ts",
    in: "seal",
    find: "if (stops) await noteFailures(this.#ports, this.#parent, name, node);",
    replace: "",
    test,
  },
  {
    name: "stop: the parent is not read again after the note",
    file: "pipeline/end/stop-family.ts",
    in: "stopAfterEnd",
    find: 'const present = isArmed(parent) ? parent : await ports.records.get(key, "consistently");',
    replace: "const present = parent;",
    test,
  },
  {
    name: "stop: a later end of a retried child does not replace the number of failures",
    file: "model/family-node.ts",
    in: "failuresText",
    find: "return versioned(version, String(failures)",
    replace: "return versioned(version * 0, String(failures)",
    test,
  },
  {
    name: "stop: it is noted before it is requested",
    file: "pipeline/end/stop-family.ts",
    in: "stopIfLost",
    find: '  await requestCancelChildren(ports, parent, "stop");\n',
    replace: "",
    also: {
      in: "stopIfLost",
      find: "if (noted.done) reportStopped(ports, noted.record);",
      replace: 'if (noted.done) await requestCancelChildren(ports, parent, "stop");',
    },
    test,
  },
  {
    name: "stop: a repeat of the cancel does not count the ends of children that a death left",
    file: "control/cancel-others.ts",
    in: "cancelChildren",
    find: "    await inLanes(ended, lanes, (child) => followUp(ports, child));\n",
    replace: "",
    test: deaths,
  },
];
