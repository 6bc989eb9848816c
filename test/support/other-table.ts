import { registerHooks } from "node:module";

/*
 * `node --import`: the local server uses the DynamoDB that `OFFLOAD_TEST_DYNAMODB` names, in place of its own emulator.
 * For the black-box suite on a second engine: `npm run test:dynamodb-local`.
 */

const url = process.env.OFFLOAD_TEST_DYNAMODB ?? "";

const table = `export const startTable = async () =>
  ({ url: ${JSON.stringify(url)}, isNew: true, giveRoomBack: async () => {}, close: async () => {} });`;

registerHooks({
  load: (file, context, next) =>
    file.endsWith("/src/local/dynamodb/table.ts")
      ? { format: "module", source: table, shortCircuit: true }
      : next(file, context),
});
