const { createClient, ProblemError } = require("offload/client");
const { createDirectClient } = require("offload/direct");
const { startLocalServer } = require("offload/testing");

test("a CommonJS program loads the clients", () => {
  expect(typeof createClient({ url: "http://127.0.0.1:9", key: "dev-acme" }).submit).toBe("function");
  expect([typeof createDirectClient, typeof startLocalServer, ProblemError.name]).toEqual([
    "function",
    "function",
    "ProblemError",
  ]);
});
