import { DynamoAuditLog } from "../../src/aws/audit-log.ts";
import { MemoryAuditLog } from "../../src/memory/audit.ts";
import { describeAudit } from "./audit.ts";
import { emulatedTable } from "./emulators.ts";

describeAudit("the audit in memory", async () => ({ audit: new MemoryAuditLog(), close: async () => {} }));

describeAudit("the audit in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { audit: new DynamoAuditLog(dynamoTable), close };
});
