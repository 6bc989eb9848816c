import { DynamoSecretVersions } from "../../src/aws/secret-versions.ts";
import { MemorySecretVersions } from "../../src/memory/secret-versions.ts";
import { emulatedTable } from "./emulators.ts";
import { describeSecretVersions } from "./secret-versions.ts";

describeSecretVersions("secret versions in memory", async () => ({
  versions: new MemorySecretVersions(),
  close: async () => {},
}));

describeSecretVersions("secret versions in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { versions: new DynamoSecretVersions(dynamoTable), close };
});
