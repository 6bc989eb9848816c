import { describe, expect, test } from "vitest";
import { allOf, inData, inService, resources, stage, synthesize } from "./synthesis.ts";

const dev = stage("dev");
const prod = stage("prod");
const bucketOf = ({ data }: typeof dev) => resources(data, "AWS::S3::Bucket")("Bucket");

describe.each(Object.entries({ dev, prod }))("the bucket in %s", (_, made) => {
  const bucket = bucketOf(made);

  test("the bucket is the only one", () => {
    const all = [...allOf(made.data, "AWS::S3::Bucket"), ...allOf(made.service, "AWS::S3::Bucket")];
    expect(all.map(({ name }) => name)).toEqual(["Bucket"]);
  });

  test("the bucket is encrypted with S3's own keys", () => {
    expect(bucket.get("BucketEncryption.ServerSideEncryptionConfiguration")).toEqual([
      { ServerSideEncryptionByDefault: { SSEAlgorithm: "AES256" } },
    ]);
  });

  test("the bucket blocks public access and has no access control lists", () => {
    expect(bucket.get("PublicAccessBlockConfiguration")).toEqual({
      BlockPublicAcls: true,
      BlockPublicPolicy: true,
      IgnorePublicAcls: true,
      RestrictPublicBuckets: true,
    });
    expect(bucket.get("OwnershipControls.Rules")).toEqual([{ ObjectOwnership: "BucketOwnerEnforced" }]);
  });

  test("the bucket refuses requests without TLS", () => {
    const policies = allOf(made.data, "AWS::S3::BucketPolicy").flatMap(({ statements }) => statements);
    expect(policies).toContainEqual(
      expect.objectContaining({
        Effect: "Deny",
        Principal: { AWS: "*" },
        Action: "s3:*",
        Condition: { Bool: { "aws:SecureTransport": "false" } },
      }),
    );
  });

  test("the bucket keeps no old versions", () => {
    expect(bucket.get("VersioningConfiguration")).toBeUndefined();
  });

  test("the bucket aborts multipart uploads after a day, and deletes every object after 800 days", () => {
    expect(bucket.get("LifecycleConfiguration.Rules")).toEqual([
      { Id: "unfinished-uploads", Status: "Enabled", AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 } },
      { Id: "backstop", Status: "Enabled", ExpirationInDays: 800 },
    ]);
  });

  test("pages of other origins may not use the bucket without CORS options", () => {
    expect(bucket.get("CorsConfiguration")).toBeUndefined();
  });
});

test("the bucket is emptied before it is deleted, in dev only", () => {
  expect(allOf(dev.data, "Custom::S3AutoDeleteObjects")).toHaveLength(1);
  expect(allOf(dev.data, "AWS::Lambda::Function").map((one) => inData(dev, one.get("LoggingConfig.LogGroup")))).toEqual(
    ["Bucket/EmptyLogs"],
  );
  expect(allOf(prod.data, "Custom::S3AutoDeleteObjects")).toEqual([]);
  expect(allOf(prod.data, "AWS::Lambda::Function")).toEqual([]);
});

test("with CORS options, pages of the API's origins may upload, and any origin may read with a signed URL", () => {
  const made = synthesize({ cors: { allowOrigins: ["https://app.example.com"] } });
  const common = { ExposedHeaders: ["ETag"], MaxAge: 3600 };
  expect(bucketOf(made).get("CorsConfiguration.CorsRules")).toEqual([
    {
      ...common,
      AllowedMethods: ["PUT"],
      AllowedOrigins: ["https://app.example.com"],
      AllowedHeaders: ["content-type", "if-none-match", "x-amz-checksum-sha256"],
    },
    { ...common, AllowedMethods: ["GET", "HEAD"], AllowedOrigins: ["*"], AllowedHeaders: ["*"] },
  ]);
});

test("the functions that store or read objects know the bucket's name", () => {
  const withBucket = allOf(dev.service, "AWS::Lambda::Function").filter(
    (one) => one.get("Environment.Variables.OFFLOAD_BUCKET") !== undefined,
  );
  expect(withBucket.map(({ name }) => name.replace("/Function", "")).sort()).toEqual([
    ...["Control", "CriticalWorker", "Fire", "HighWorker", "LowWorker", "NormalWorker", "Notify", "Redrive", "Status"],
    "Submit",
  ]);
  for (const one of withBucket) expect(inService(dev, one.get("Environment.Variables.OFFLOAD_BUCKET"))).toBe("Bucket");
});
