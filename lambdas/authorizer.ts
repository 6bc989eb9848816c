import type { APIGatewayRequestAuthorizerEventV2 } from "aws-lambda";
import { createAuthorizer } from "../src/api/http/authorizer.ts";
import { createJwtVerifier, jwtSettingNames, jwtSettings } from "../src/api/http/jwt.ts";
import { DynamoApiKeys } from "../src/aws/api-keys.ts";
import { answersWithin, authorizerMs } from "../src/aws/call-times.ts";
import { tableClient } from "../src/aws/clients.ts";
import { DynamoTable } from "../src/aws/dynamo-table.ts";
import { createLog } from "../src/aws/log.ts";
import { systemClock } from "../src/aws/process.ts";
import { fromEnv } from "../src/settings/config.ts";

const config = fromEnv(process.env, ["table", "localKeys", ...jwtSettingNames]);
const issuer = jwtSettings(config);
const authorize = createAuthorizer({
  clock: systemClock,
  log: createLog("authorizer"),
  keys: new DynamoApiKeys(new DynamoTable(tableClient(), config.table)),
  localKeys: config.localKeys,
  verifyToken: issuer && createJwtVerifier(issuer, Date),
});

/**
 * Always allows the request, and passes on the caller or the reason for a 401: the API's functions send the 401
 * themselves.
 */
export const handler = answersWithin(authorizerMs, async (event: APIGatewayRequestAuthorizerEventV2) => ({
  isAuthorized: true,
  context: await authorize(event.headers?.authorization),
}));
