import { type Connection, clientOf, withConnection } from "./client.ts";
import type { Register } from "./register.ts";
import { table } from "./table.ts";

const examples = `
--json also prints the JSON Schema of each input and output.

Examples:
  npx offload types
  npx offload types --json
`;

/** `offload types` */
export const register: Register = (command, terminal) => {
  withConnection(command)
    .addHelpText("after", examples)
    .action(async (options: Connection) => {
      const types = await clientOf(options).types();
      if (options.json) return terminal.out(JSON.stringify({ types }, null, 2));
      if (types.length === 0) return terminal.out("No task types.");
      const rows = types.map((type) => [
        type.name,
        type.version,
        type.priority,
        `${type.timeout_seconds} s`,
        type.max_attempts,
        type.description,
      ]);
      terminal.out(table(["type", "version", "tier", "time-out", "attempts", "description"], rows, terminal));
    });
};
