/**
 * The package's entry `offload/testing`: the test kit, and a local server for tests over HTTP.
 * @module offload/testing
 */
export { upcastInput } from "../core/task/parsed-input.ts";
export { type Advanced, type LocalServerOptions, startLocalServer, type TestServer } from "../installed/test-server.ts";
export {
  type AttemptReport,
  type ChildReport,
  type Fault,
  type KitOptions,
  type LogLine,
  type Outcome,
  type RunOptions,
  type SpawnedChild,
  type StartedTask,
  type StartOptions,
  type Submitted,
  type TestKit,
  testKit,
} from "../testkit/kit.ts";
