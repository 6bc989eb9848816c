import {
  ApiGatewayManagementApiClient,
  DeleteConnectionCommand,
  PostToConnectionCommand,
} from "@aws-sdk/client-apigatewaymanagementapi";
import type { Posted, Socket } from "../core/ports/notify.ts";
import { boundedCalls } from "./call-times.ts";
import { isNamed, viaPort } from "./errors.ts";
import { boundedTries } from "./http-handler.ts";
import { localCredentials, localServicesVariable } from "./local-services.ts";

const port = "the WebSocket API";

/** Connections of the deployment's WebSocket API. */
export class ApiGatewaySocket implements Socket {
  readonly #client: ApiGatewayManagementApiClient;

  /** @param endpoint URL of the management API, with its stage. */
  constructor(endpoint: string, env: NodeJS.ProcessEnv = process.env) {
    const local = env[localServicesVariable] !== undefined && { region: "us-east-1", credentials: localCredentials };
    // One try: a message that comes late says nothing new, and ends are tried again by the caller.
    const client = new ApiGatewayManagementApiClient({ ...boundedTries(), maxAttempts: 1, endpoint, ...local });
    this.#client = boundedCalls(client);
  }

  post(connectionId: string, text: string): Promise<Posted> {
    const Data = new TextEncoder().encode(text);
    const sent = this.#client
      .send(new PostToConnectionCommand({ ConnectionId: connectionId, Data }))
      .then((): Posted => "sent", postedOf);
    return viaPort(port, sent);
  }

  async close(connectionId: string): Promise<void> {
    const closed = this.#client.send(new DeleteConnectionCommand({ ConnectionId: connectionId })).catch((error) => {
      if (!isNamed(error, "GoneException")) throw error;
    });
    await viaPort(port, closed);
  }
}

/** The errors that tell something of one connection. */
function postedOf(error: unknown): Posted {
  if (isNamed(error, "GoneException")) return "gone";
  // Too many messages for the stage, or the client does not read what was sent to it.
  if (isNamed(error, "LimitExceededException")) return "busy";
  throw error;
}
