import { expect, test } from "vitest";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { MemoryDeployments } from "../../../src/memory/deployments.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { ada, appsOf, ask, caller, gina, olga, problem, sam } from "../../support/served.ts";
import { echo } from "../../support/task-types.ts";

const older = {
  started_at: "2027-01-01T14:00:00.000Z",
  deployed_at: "2027-01-01T14:02:00.000Z",
  version: "1.0.0",
  rolled_back: false,
};
const newer = {
  started_at: "2027-01-01T15:00:00.000Z",
  deployed_at: "2027-01-01T15:00:00.000Z",
  version: "1.1.0",
  rolled_back: true,
};
const vera = caller("acme", "vera", "viewer");

/** The app over two deployments. */
async function setUp(deployments = new MemoryDeployments()) {
  for (const deployment of [older, newer]) await deployments.note(deployment);
  const { status } = appsOf({ ...memoryPipeline([echo]).ports, deployments });
  return (as: object, path = "/deployments") => ask(status, path, { as });
}

test.each([vera, olga, gina, ada])("the deployments are the same for $role of $tenant_id, newest first", async (as) => {
  const answer = await (await setUp())(as);
  expect(answer.json).toEqual({ deployments: [newer, older] });
  expect(answer.headers.get("cache-control")).toBe("no-store");
});

test("an admin may ask for them of any tenant and of all, others only of their own", async () => {
  const get = await setUp();
  for (const tenant of ["globex", "*"]) {
    expect((await get(ada, `/deployments?tenant=${tenant}`)).json).toEqual({ deployments: [newer, older] });
    for (const as of [vera, olga]) {
      expect(await get(as, `/deployments?tenant=${tenant}`)).toMatchObject(problem(403, "forbidden"));
    }
  }
});

test("submitters, who see the tasks that they submitted, are refused", async () => {
  const get = await setUp();
  expect(await get(sam)).toMatchObject(problem(403, "forbidden"));
  expect(await get({})).toMatchObject(problem(401, "unauthenticated"));
});

test("503 while the table does not answer", async () => {
  const deployments = new MemoryDeployments();
  const get = await setUp(deployments);
  deployments.newest = () => Promise.reject(new PortUnavailable("the table"));
  expect(await get(olga)).toMatchObject(problem(503, "unavailable"));
});
