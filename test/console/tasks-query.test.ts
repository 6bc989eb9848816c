import { expect, test } from "vitest";
import {
  apiQuery,
  chipsOf,
  faultOf,
  filterOf,
  isAddress,
  isOfIds,
  showsOwn,
} from "../../console/src/pages/tasks-query.ts";

const keyed = { type: "post.publish", unique_key: "post-4711", status: "scheduled", tag: "order=1" };

test("the API's list has the key, and an operation has the ids of what is found, not its filter without the key", () => {
  expect(apiQuery(keyed)).toEqual({
    ...{ type: "post.publish", unique_key: "post-4711", status: "scheduled", "tag.order": "1" },
  });
  expect(isOfIds(keyed)).toBe(true);
  expect(isOfIds({ type: "post.publish" })).toBe(false);
  expect(filterOf({ ...keyed, q: "printer" })).toEqual({
    ...{ type: "post.publish", status: "scheduled", tags: { order: "1" } },
  });
});

test("a filter that no list can be read with is said before a request", () => {
  expect(faultOf({ tag: "order" })?.message).toContain("no name=value");
  expect(faultOf({ unique_key: "post-4711" })?.message).toContain("choose the type");
  expect(faultOf(keyed)).toBeUndefined();
});

test.each([
  ["~post.publish:post-4711", true],
  ["~post.publish:a:b", true],
  ["~post.publish", false],
  ["~post.publish:", false],
  ["~:key", false],
  ["post.publish:post-4711", false],
])("%s is the address of a key: %s", (text, is) => {
  expect(isAddress(text)).toBe(is);
});

test("chips say the filters, without the search; Offload's own tasks are shown when their type is asked for", () => {
  expect(chipsOf({ ...keyed, q: "printer" }, String).map(({ words, value }) => `${words} ${value}`)).toEqual([
    ...["Status is scheduled", "Type is post.publish", "Key is post-4711", "Tag is order=1"],
  ]);
  expect([{}, { own: "shown" }, { type: "offload.cancel" }].map(showsOwn)).toEqual([false, true, true]);
});
