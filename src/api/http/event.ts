/** A request as API Gateway passes it to a function (payload format 2.0). */
export interface GatewayEvent {
  /** API Gateway passes the path decoded. */
  rawPath: string;
  rawQueryString: string;
  /** Method and path of the gateway's route, such as `GET /tasks/{task_id}`. */
  routeKey?: string;
  /** The values of the route's steps in braces. */
  pathParameters?: Readonly<Record<string, string | undefined>>;
  /** By their names in lower case. */
  headers?: Readonly<Record<string, string | undefined>>;
  body?: string | null;
  isBase64Encoded: boolean;
  requestContext: {
    domainName: string;
    http: { method: string };
    authorizer?: { lambda?: AuthorizerContext };
  };
}

/** An answer as API Gateway takes it from a function. */
export interface GatewayAnswer {
  statusCode: number;
  headers: Record<string, string>;
  body: string;
  isBase64Encoded: boolean;
}

/** Answer of the authorizer: an identity, or why there is none (`anonymous`), or why it is unknown (`unavailable`). */
export interface AuthorizerContext {
  tenant_id?: string;
  principal?: string;
  /** The principal as a part of a JSON text, for the gateway's access log. */
  logged_principal?: string;
  role?: string;
  /** `true`: a viewer that may read inputs and logs. */
  inputs?: string;
  anonymous?: string;
  unavailable?: string;
}
