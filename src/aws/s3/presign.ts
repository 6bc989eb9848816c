import { GetObjectCommand, PutObjectCommand, type S3Client } from "#aws-sdk/client-s3";
import { getSignedUrl } from "#aws-sdk/s3-request-presigner";
import type { DownloadGrant, PresignedUpload, UploadGrant } from "../../core/ports/blob.ts";
import { contentDisposition } from "../../util/content-disposition.ts";

/**
 * Headers that a client must send. The SDK would move those with `x-amz-` into the URL, where S3 does not check them,
 * and would not sign the content type.
 */
const enforced = ["content-length", "content-type", "if-none-match", "x-amz-checksum-sha256"];

type At = { Bucket: string; Key: string };

export async function presignUpload(client: S3Client, at: At, grant: UploadGrant): Promise<PresignedUpload> {
  const checksum = grant.sha256 === undefined ? undefined : Buffer.from(grant.sha256, "hex").toString("base64");
  const command = new PutObjectCommand({
    ...at,
    ContentLength: grant.sizeBytes,
    ContentType: grant.contentType,
    IfNoneMatch: "*",
    ChecksumSHA256: checksum,
  });
  const url = await getSignedUrl(client, command, {
    expiresIn: grant.expiresSeconds,
    signableHeaders: new Set(["host", ...enforced]),
    unhoistableHeaders: new Set(enforced),
  });
  const headers: Record<string, string> = {
    "content-length": String(grant.sizeBytes),
    "content-type": grant.contentType,
    "if-none-match": "*",
    ...(checksum !== undefined && { "x-amz-checksum-sha256": checksum }),
  };
  return { method: "PUT", url, headers };
}

export function presignDownload(client: S3Client, at: At, grant: DownloadGrant): Promise<string> {
  const { fileName, inline = false } = grant;
  const command = new GetObjectCommand({
    ...at,
    ResponseContentType: grant.contentType,
    ResponseContentDisposition:
      fileName === undefined ? undefined : contentDisposition(fileName, inline ? "inline" : "attachment"),
  });
  return getSignedUrl(client, command, { expiresIn: grant.expiresSeconds });
}
