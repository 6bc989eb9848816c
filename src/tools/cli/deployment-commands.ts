import { Admin } from "../../client/index.ts";
import { things } from "./answer.ts";
import { connection, connectionOf } from "./connection.ts";
import type { Register } from "./group.ts";

const examples = `
Lists the newest 50 deployments of the last 90 days, the newest first. A start or reload of a local server counts as one.

Examples:
  npx offload deployments
  npx offload deployments --json | jq -r '.deployments[0].deployed_at'
`;

/** `offload deployments` */
export const register: Register = (group) => {
  group.help(examples).does(connection, async (options) =>
    things({ deployments: await new Admin(connectionOf(options)).deployments() }, "No deployments.", {
      deployed: "deployed_at",
      Offload: "version",
      end: ({ rolled_back }) => (rolled_back ? "rolled back" : "deployed"),
    }),
  );
};
