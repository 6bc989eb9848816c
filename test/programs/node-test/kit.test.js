const { test } = require("node:test");
const assert = require("node:assert/strict");
const { defineTask } = require("offload");
const { testKit } = require("offload/testing");
// An ES module, whose errors the test kit has to know.
const { default: textSize } = require("./text.size.mjs");

test("a task type that is an ES module runs in a CommonJS test", async () => {
  assert.equal(typeof defineTask, "function");
  const kit = testKit([textSize]);
  assert.deepEqual((await kit.run(textSize, { text: "abc" })).result, { size: 3 });
  const failed = await kit.run(textSize, { text: "" });
  assert.deepEqual([failed.errorKind, failed.attempts.length], ["permanent", 1]);
});
