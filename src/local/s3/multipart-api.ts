import { type ChecksumAlgorithm, type Checksums, checksumAlgorithm, checksumAlgorithms } from "./checksums.ts";
import { type Call, targetOf, withBody } from "./object-api.ts";
import type { NamedPart } from "./object-store.ts";
import { S3Error, unescapeXml, xmlOf } from "./s3-error.ts";

const maxParts = 10_000;

/** Longest list of parts in bytes: 10,000 parts with all their checksums. */
const longestList = 4 * 1024 ** 2;

export async function createUpload({ request, response, store }: Call): Promise<void> {
  const { bucket, key, headers } = targetOf(request);
  const name = request.header("x-amz-checksum-algorithm");
  if (request.header("x-amz-checksum-type") === "FULL_OBJECT") {
    throw new S3Error("NotImplemented", "The local server computes no checksum of a whole object of several parts.");
  }
  const algorithm = name === undefined ? undefined : checksumAlgorithm(name);
  const { id } = store.createUpload({ bucket, key, headers, algorithm });
  if (algorithm !== undefined) response.setHeader("x-amz-checksum-algorithm", algorithm.toUpperCase());
  sendXml({ response }, "InitiateMultipartUploadResult", { Bucket: bucket, Key: key, UploadId: id });
}

export async function putPart({ request, signed, response, store }: Call): Promise<void> {
  const upload = store.upload(request.param("uploadId") ?? "", request.bucket, request.key);
  const number = Number(request.param("partNumber"));
  if (!Number.isInteger(number) || number < 1 || number > maxParts) {
    const text = `Part number must be an integer between 1 and ${maxParts}, inclusive`;
    throw new S3Error("InvalidArgument", text, { ArgumentName: "partNumber" });
  }
  const part = await withBody({ request, signed, store }, (file, { sizeBytes, md5, checksums }) => {
    const received = { number, file, sizeBytes, etag: md5.toString("hex"), checksums };
    store.putPart(upload, received);
    return received;
  });
  for (const [algorithm, value] of Object.entries(part.checksums)) {
    response.setHeader(`x-amz-checksum-${algorithm}`, value);
  }
  response.writeHead(200, { etag: `"${part.etag}"` }).end();
}

export async function completeUpload({ request, signed, response, store }: Call): Promise<void> {
  const id = request.param("uploadId") ?? "";
  const { bucket, key, onlyIfAbsent } = targetOf(request);
  const list = await readList({ request, signed });
  const object = store.complete(id, { bucket, key, onlyIfAbsent }, parseParts(list));
  const checksums = Object.entries(object.checksums).map(([name, value]) => [`Checksum${name.toUpperCase()}`, value]);
  sendXml({ response }, "CompleteMultipartUploadResult", {
    Location: `http://${request.header("host")}${request.path}`,
    ...{ Bucket: bucket, Key: key, ETag: `"${object.etag}"` },
    ...Object.fromEntries(checksums),
    ...(checksums.length > 0 && { ChecksumType: "COMPOSITE" }),
  });
}

export async function abortUpload({ request, response, store }: Call): Promise<void> {
  const upload = store.upload(request.param("uploadId") ?? "", request.bucket, request.key);
  store.abort(upload.id);
  response.writeHead(204).end();
}

async function readList({ request }: Pick<Call, "request" | "signed">): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request.message.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > longestList) throw malformed();
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}

/** @throws S3Error for a list that is empty, too long or not in S3's form */
function parseParts(xml: string): NamedPart[] {
  const parts = [...xml.matchAll(/<Part>(.*?)<\/Part>/gs)].map(([, part = ""]) => {
    const fields = new Map(
      [...part.matchAll(/<(\w+)>([^<]*)<\/\1>/g)].map(([, name, value = ""]) => [name, unescapeXml(value)]),
    );
    const etag = fields.get("ETag");
    const number = Number(fields.get("PartNumber"));
    if (etag === undefined || !Number.isInteger(number) || number < 1) throw malformed();
    return { number, etag, checksums: checksumsOf((name) => fields.get(name)) };
  });
  if (parts.length === 0 || parts.length > maxParts || !/<\/CompleteMultipartUpload>\s*$/.test(xml)) throw malformed();
  return parts;
}

function checksumsOf(field: (name: string) => string | undefined): Checksums {
  const given = checksumAlgorithms.map(
    (algorithm) => [algorithm, field(`Checksum${algorithm.toUpperCase()}`)] as const,
  );
  return Object.fromEntries(given.filter((pair): pair is [ChecksumAlgorithm, string] => pair[1] !== undefined));
}

const malformed = () =>
  new S3Error(
    "MalformedXML",
    "The XML you provided was not well-formed or did not validate against our published schema",
  );

function sendXml({ response }: Pick<Call, "response">, root: string, fields: Record<string, string>): void {
  response.writeHead(200, { "content-type": "application/xml" }).end(xmlOf(root, fields));
}
