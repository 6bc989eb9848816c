import type { Mutation } from "./mutation.ts";

/** Each breaks a promise of tasks that collect inputs. */
export const listMutations: readonly Mutation[] = [
  {
    name: "list: an attempt reads its list before it is closed",
    file: "pipeline/work/intake.ts",
    in: "gather",
    find: "  await closeList(ports, record);\n",
    replace: "",
  },
  {
    name: "list: a call with an idempotency key notes no page",
    file: "extras/unique/collect.ts",
    in: "moveNote",
    find: "  if (own === undefined) return true;\n",
    replace: "  if (own === undefined || place.number > 0) return true;\n",
  },
  {
    name: "list: a call leaves a page that may still take its input",
    file: "extras/unique/collect.ts",
    in: "moveNote",
    find: "    if (page === undefined || !isFinal(page, noted.list)) {\n",
    replace: "    if (page === undefined && number < 0) {\n",
  },
  {
    name: "list: a call moves the note that another call has moved",
    file: "extras/unique/collect.ts",
    in: "moveNote",
    find: "  return noteJoined(one, { joined: note }, list, { replaced: number });\n",
    replace:
      "  return noteJoined(one, { joined: await ports.uniqueKeys.holder(joinedKey(own)) }, list, { replaced: number });\n",
  },
  {
    name: "list: an input is accepted in a list that is not sent",
    file: "extras/unique/collect.ts",
    in: "sentByOther",
    find: "  if (seen?.unsent === undefined) return true;\n",
    replace: "  if (seen !== null) return true;\n",
  },
  {
    name: "list: the number of an input is its place in the page",
    file: "extras/unique/collect.ts",
    in: "addTo",
    find: "collected: page.first + at, isNew: isOwn",
    replace: "collected: 1 + at, isNew: isOwn",
  },
  {
    name: "list: an input of a full page gets the place of the one before it",
    file: "pipeline/send/collected-list.ts",
    in: "lastPlace",
    find: "  return { number: number + 1, first: first + ids.length, bytesBefore: bytesBefore + bytes };\n",
    replace: "  return { number: number + 1, first: first + ids.length - 1, bytesBefore: bytesBefore + bytes };\n",
  },
  {
    name: "list: the end of a list whose last page is full is not stored",
    file: "pipeline/send/collected-list.ts",
    in: "closeList",
    find: "  while (last === undefined || !isOver(last, list)) {\n",
    replace: "  while (last === undefined || (!isOver(last, list) && last.bytes < fullPageBytes)) {\n",
  },
  {
    name: "list: an empty list is handled",
    file: "pipeline/work/intake.ts",
    in: "gather",
    find: "  if (inputs.length === 0) return undefined;\n",
    replace: "",
    test: "test/core/extras/unique/collect.test.ts",
  },
  {
    name: "list: a key whose calls the table refuses as too many keeps its one list",
    file: "extras/unique/collect.ts",
    in: "addOrSpread",
    find: "if (isThrottled(error)) spread",
    replace: "if (isThrottled(error) && one.text === undefined) spread",
    test: "test/core/extras/unique/collect.test.ts",
  },
  {
    name: "list: an outage of the table spreads keys",
    file: "extras/unique/collect.ts",
    in: "addOrSpread",
    find: "if (isThrottled(error)) spread",
    replace: "if (isThrottled(error) || error instanceof Error) spread",
    test: "test/core/extras/unique/collect.test.ts",
  },
];
