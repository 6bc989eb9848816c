import { Admin } from "../client/index.ts";
import { type Connection, connectionOf, withConnection } from "./client.ts";
import type { Register } from "./register.ts";
import { table } from "./table.ts";

const examples = `
Lists the newest 50 deployments of the last 90 days, the newest first. A start or reload of a local server counts as one.

Examples:
  npx offload deployments
  npx offload deployments --json | jq -r '.deployments[0].deployed_at'
`;

/** `offload deployments` */
export const register: Register = (command, terminal) => {
  withConnection(command)
    .addHelpText("after", examples)
    .action(async (options: Connection) => {
      const deployments = await new Admin(connectionOf(options)).deployments();
      if (options.json) return terminal.out(JSON.stringify({ deployments }, null, 2));
      if (deployments.length === 0) return terminal.out("No deployments.");
      const rows = deployments.map(({ deployed_at, version, rolled_back }) => [
        deployed_at,
        version,
        rolled_back ? "rolled back" : "deployed",
      ]);
      terminal.out(table(["deployed", "Offload", "end"], rows, terminal, options));
    });
};
