const assert = require("node:assert/strict");
const { createClient } = require("offload/client");

it("a CommonJS program loads the client", () => {
  assert.equal(typeof createClient({ url: "http://127.0.0.1:9", key: "dev-acme" }).submit, "function");
});
