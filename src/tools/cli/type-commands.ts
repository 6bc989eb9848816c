import { things } from "./answer.ts";
import { clientOf, connection } from "./connection.ts";
import type { Register } from "./group.ts";

const examples = `
--json also prints the JSON Schema of each input and output.

Examples:
  npx offload types
  npx offload types --json
`;

/** `offload types` */
export const register: Register = (group) => {
  group.help(examples).does(connection, async (options) =>
    things({ types: await clientOf(options).types() }, "No task types.", {
      type: "name",
      version: "version",
      tier: "priority",
      "time-out": ({ timeout_seconds }) => `${timeout_seconds} s`,
      attempts: "max_attempts",
      description: "description",
    }),
  );
};
