import { type CfnResource, Duration, Lazy, type RemovalPolicy, Stack, Token, Validations } from "aws-cdk-lib";
import type { CorsPreflightOptions } from "aws-cdk-lib/aws-apigatewayv2";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { LogGroup, RetentionDays } from "aws-cdk-lib/aws-logs";
import {
  BlockPublicAccess,
  Bucket,
  BucketEncryption,
  type CorsRule,
  HttpMethods,
  ObjectOwnership,
} from "aws-cdk-lib/aws-s3";
import type { Construct } from "constructs";
import { objectDays } from "../src/settings/config.ts";
import { keyOf } from "./encryption.ts";
import { removalPolicyOf } from "./stage.ts";
import { stacksIn } from "./tokens.ts";

/** Time for which a browser keeps the answer to a preflight request. */
const preflight = Duration.hours(1);

export interface FileBucketProps {
  /** True to keep the bucket when its stack is deleted. */
  readonly keepsData: boolean;
  /** CORS options of the API. Undefined: no pages of other origins. */
  readonly cors: CorsPreflightOptions | undefined;
  /** Stacks that refer to the bucket. */
  readonly users: ReadonlySet<Stack>;
}

/**
 * The bucket of files, large inputs and large results. Clients reach its objects only with URLs that Offload's
 * functions sign.
 */
export class FileBucket extends Bucket {
  constructor(scope: Construct, id: string, { keepsData, cors, users }: FileBucketProps) {
    const removalPolicy: RemovalPolicy = removalPolicyOf(keepsData);
    super(scope, id, {
      ...encryptionWith(keyOf(scope)),
      enforceSSL: true,
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      versioned: false,
      // Offload deletes objects itself: lifecycle rules know neither the end of a task nor its retention.
      lifecycleRules: [
        { id: "unfinished-uploads", abortIncompleteMultipartUploadAfter: Duration.days(1) },
        { id: "backstop", expiration: Duration.days(objectDays) },
      ],
      cors: corsRules(cors, users),
      removalPolicy,
      // CloudFormation deletes no bucket that has objects.
      autoDeleteObjects: !keepsData,
    });
    if (!keepsData) this.boundLogs(removalPolicy);
    Validations.of(this).acknowledge({
      id: "AwsSolutions-S1",
      reason:
        "Only Offload's functions and URLs that they sign reach the objects; data events of CloudTrail record each access.",
    });
  }

  /**
   * Adds a log group for the CDK's function that empties the bucket. Lambda would create a group that no stack deletes.
   */
  private boundLogs(removalPolicy: RemovalPolicy): void {
    const logs = new LogGroup(this, "EmptyLogs", { retention: RetentionDays.ONE_WEEK, removalPolicy });
    const provider = Stack.of(this).node.findChild("Custom::S3AutoDeleteObjectsCustomResourceProvider");
    const handler = provider.node.findChild("Handler") as CfnResource;
    handler.addPropertyOverride("LoggingConfig.LogGroup", logs.logGroupName);
  }
}

/** A bucket key makes a request to KMS for many objects. */
const encryptionWith = (key: IKey | undefined) =>
  key === undefined
    ? { encryption: BucketEncryption.S3_MANAGED }
    : { encryption: BucketEncryption.KMS, encryptionKey: key, bucketKeyEnabled: true };

/**
 * Pages may upload if they may call the API. Any origin may read with a signed URL: a browser that follows the API's
 * redirect to it sends the origin `null`.
 */
function corsRules(cors: CorsPreflightOptions | undefined, users: ReadonlySet<Stack>): CorsRule[] {
  const given = cors?.allowOrigins ?? [];
  if (given.length === 0) return [];
  // A stack whose functions submit needs this one first, so this one cannot need the name of a distribution there. An
  // upload needs a signed URL in any case.
  const isCircular = () => given.some((origin) => stacksIn(origin).some((stack) => users.has(stack)));
  const allowedOrigins = given.some((origin) => Token.isUnresolved(origin))
    ? Lazy.uncachedList({ produce: () => (isCircular() ? ["*"] : [...given]) })
    : given;
  const common = { exposedHeaders: ["ETag"], maxAge: preflight.toSeconds() };
  return [
    {
      ...common,
      allowedMethods: [HttpMethods.PUT],
      allowedOrigins,
      allowedHeaders: ["content-type", "if-none-match", "x-amz-checksum-sha256"],
    },
    { ...common, allowedMethods: [HttpMethods.GET, HttpMethods.HEAD], allowedOrigins: ["*"], allowedHeaders: ["*"] },
  ];
}
