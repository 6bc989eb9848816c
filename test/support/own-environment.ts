import { afterAll } from "vitest";

// Files of the unit project share a process: what one sets in its environment must not reach the next.
const before = { ...process.env };

afterAll(() => {
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  Object.assign(process.env, before);
});
