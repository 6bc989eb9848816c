import { CfnOutput, Duration, Stack, Validations } from "aws-cdk-lib";
import { type CfnStage, WebSocketApi, WebSocketStage } from "aws-cdk-lib/aws-apigatewayv2";
import { WebSocketLambdaIntegration } from "aws-cdk-lib/aws-apigatewayv2-integrations";
import type { TableV2 } from "aws-cdk-lib/aws-dynamodb";
import type { IGrantable } from "aws-cdk-lib/aws-iam";
import { Construct } from "constructs";
import { apiTimeoutSeconds, defaultThrottle, type SettingTexts } from "../src/settings/config.ts";
import { allowConnections, allowTable, allowTableKeys, apiKeyItems } from "./access.ts";
import { type CommonProps, PipelineFunction } from "./function.ts";

export interface PushProps extends CommonProps {
  /** Name of the API in the AWS console. */
  readonly name: string;
  readonly table: TableV2;
}

/** The only stage of the WebSocket API. */
const stageName = "v1";

/** Starts of the keys of channels and connections; see `src/aws/table.ts`. */
const ownKeys = ["channel#*", "connection#*", "connections#*", "listeners#*"];

/** The WebSocket API of channels, with the function that connects them. */
export class Push extends Construct {
  readonly socket: PipelineFunction;
  private readonly stage: WebSocketStage;
  private readonly table: TableV2;

  constructor(scope: Construct, id: string, { name, table, ...common }: PushProps) {
    super(scope, id);
    this.table = table;
    this.socket = new PipelineFunction(this, "Socket", {
      name: "socket",
      description: "Offload: connects clients to their channels",
      settings: { table: table.tableName },
      timeout: Duration.seconds(apiTimeoutSeconds),
      ...common,
    });
    allowTableKeys(this.socket, table, ["GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"], ownKeys);
    // A revoked key gets no connection.
    allowTableKeys(this.socket, table, ["GetItem"], apiKeyItems);
    this.stage = this.addStage(this.addApi(name));
    new CfnOutput(Stack.of(this), "ChannelUrl", { value: this.stage.url });
  }

  /** Settings of the function that opens channels. */
  get settings(): SettingTexts {
    return { socketUrl: this.stage.url };
  }

  /** Settings of the function that sends messages. */
  get senderSettings(): SettingTexts {
    return { socketEndpoint: this.stage.callbackUrl };
  }

  /** Grants reading and removing connections, and sending messages to them. */
  allowSend(grantee: IGrantable): void {
    allowTable(grantee, this.table, ["BatchGetItem", "Query", "DeleteItem"]);
    allowConnections(grantee, this.stage);
  }

  private addApi(name: string): WebSocketApi {
    const integration = () => new WebSocketLambdaIntegration("Socket", this.socket.function);
    const api = new WebSocketApi(this, "Api", {
      apiName: `${name}-push`,
      description: "Offload: channels, which hear of tasks",
      connectRouteOptions: { integration: integration() },
      disconnectRouteOptions: { integration: integration() },
      // The answer of the function goes to the client.
      defaultRouteOptions: { integration: integration(), returnResponse: true },
    });
    Validations.of(api).acknowledge({
      id: "AwsSolutions-APIG4",
      reason:
        "No authorizer: browsers cannot send a header. The function redeems a ticket, which the API gave to a caller.",
    });
    return api;
  }

  private addStage(webSocketApi: WebSocketApi): WebSocketStage {
    const { requestsPerSecond: rateLimit, burst: burstLimit } = defaultThrottle;
    const throttle = { rateLimit, burstLimit };
    const stage = new WebSocketStage(this, "Stage", { webSocketApi, stageName, autoDeploy: true, throttle });
    // Messages of clients have limits of their own, so that they cannot keep others from connecting.
    (stage.node.defaultChild as CfnStage).routeSettings = {
      $default: { ThrottlingRateLimit: rateLimit, ThrottlingBurstLimit: burstLimit },
    };
    // The settings name a route, which has to exist.
    stage.node.addDependency(webSocketApi);
    const reason =
      "No access log: it would need a role of the whole account. The function logs refused connections, without tickets.";
    for (const id of ["AwsSolutions-APIG1", "Serverless-APIGWAccessLogging"]) {
      Validations.of(stage).acknowledge({ id, reason });
    }
    return stage;
  }
}
