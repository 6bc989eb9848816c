import { deployments, templatesOf, writeReleased } from "./deployments.ts";

/* Writes the templates that the next release is compared with. */
writeReleased(
  Object.fromEntries(Object.entries(deployments).map(([name, deployment]) => [name, templatesOf(deployment)])),
);
