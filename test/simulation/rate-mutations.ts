import type { Mutation } from "./mutation.ts";

const file = "extras/limits/rate-list.ts";
const test = "test/core/extras/limits/rate-lists.test.ts";

const byInput = "test/core/extras/limits/rate-by-input.test.ts";

/** Ways to break lists of rates, and rates by input. */
export const rateMutations: readonly Mutation[] = [
  {
    name: "rates: a key has more starts than its newest input says",
    file: "extras/limits/limit-lines.ts",
    in: "definedRates",
    find: "noted[perSeconds]",
    replace: "8",
    theme: "flow",
  },
  {
    name: "rates: the rate of an input that is lower than the earlier one is not noted",
    file: "extras/limits/limit-lines.ts",
    in: "noteLimit",
    find: "(isSame(known.value, value) &&",
    replace: "(Object(known.value)[10] >= Object(value)[10] || (isSame(known.value, value)) &&",
    theme: "flow",
  },
  {
    name: "rates: the limit of the input is noted for the rate of the shortest time alone",
    file: "extras/limits/limit-lines.ts",
    in: "limitsFor",
    find: "starts.push([",
    replace: "if (starts.length === 0) starts.push([",
    test: byInput,
  },
  {
    name: "rates: the input of a strict type has no rate",
    file: "extras/limits/admit.ts",
    in: "admitInTurn",
    find: "if (lines.byInput !== undefined) await noteLimits",
    replace: "if (false) await noteLimits",
    test: byInput,
  },
  {
    name: "rates: a check gives as many starts as the spaced rate allows",
    file: "extras/limits/admit-waiters.ts",
    in: "admitSome",
    find: "list?.roomAt(state, slotMs) ?? near",
    replace: "near",
    test,
  },
  {
    name: "rates: a start counts for a half of its time",
    file,
    in: "countsUntilMs",
    find: "lastMs + lengthMs",
    replace: "lastMs + lengthMs / 2",
  },
  {
    name: "rates: a start counts for twice its time",
    file,
    in: "countsUntilMs",
    find: "lastMs + lengthMs",
    replace: "lastMs + 2 * lengthMs",
  },
  {
    name: "rates: a start is counted by the first counted rate alone",
    file,
    in: "after",
    find: "const own = this.#counted.map(",
    replace: "const own = this.#counted.slice(0, 1).map(",
  },
  {
    name: "rates: a list is no limit where no task waits",
    file: "extras/limits/acquire.ts",
    in: "acquireNear",
    find: "list?.over(lines) ?? lines",
    replace: "lines",
  },
  {
    name: "rates: a part of a list's time counts from its first start on",
    file,
    in: "withPart",
    find: "{ lastMs: atMs, count: newest.count + count }",
    replace: "{ lastMs: newest.lastMs, count: newest.count + count }",
    test,
  },
  {
    name: "rates: a start that another one has changed is taken all the same",
    file,
    in: "over",
    find: "if (await lines.acquireTokens(line, state.nextTokenMs, slotMs + count * intervalMs, starts)) return slotMs;",
    replace: "await lines.acquireTokens(line, state.nextTokenMs, slotMs + count * intervalMs, starts); return slotMs;",
    test,
  },
  {
    name: "rates: a task that one rate refuses takes from the others",
    file,
    in: "over",
    find: "if (slotMs > nowMs + aheadMs) return undefined;",
    replace:
      "if (slotMs > nowMs + aheadMs) { await lines.acquireTokens(line, state.nextTokenMs, (state.nextTokenMs ?? nowMs) + intervalMs); return undefined; }",
    test,
  },
  {
    name: "rates: a moved start counts from its first time on",
    file,
    in: "withPart",
    find: "count === 0 || ",
    replace: "",
    test,
  },
  {
    name: "rates: a clock that is late notes a start for its own time",
    file,
    in: "withPart",
    find: "Math.max(newest.lastMs, lastMs)",
    replace: "lastMs",
    test,
  },
  {
    name: "rates: keys of a list that differ share its line",
    file: "extras/limits/limit-lines.ts",
    in: "lineOfList",
    find: ".name !== line.name",
    replace: ".name === undefined",
    test,
  },
];
