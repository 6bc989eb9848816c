"""Uses the local server's S3 through boto3. Arguments: URL, bucket. Prints "ok" at its end."""

import hashlib
import io
import sys
import urllib.error
import urllib.request

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import ClientError

url, bucket = sys.argv[1:3]
MIB = 1024 * 1024

s3 = boto3.client(
    "s3",
    endpoint_url=url,
    region_name="us-east-1",
    aws_access_key_id="local",
    aws_secret_access_key="local",
    config=Config(signature_version="s3v4", s3={"addressing_style": "path"}, retries={"max_attempts": 1}),
)


def refused(code, call):
    try:
        call()
    except ClientError as error:
        assert error.response["Error"]["Code"] == code, error.response
        return
    raise AssertionError(f"expected {code}")


def fetch(method, address, body=None, headers=None):
    request = urllib.request.Request(address, data=body, headers=headers or {}, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers


key = "päth/to a+b&c=d/é.txt"
body = b"hello " * 1000

# Put, head, get, ranges, conditions.
s3.put_object(Bucket=bucket, Key=key, Body=body, ContentType="text/plain", Metadata={"a": "b"}, ChecksumAlgorithm="SHA256")
head = s3.head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")
assert head["ContentLength"] == len(body) and head["ContentType"] == "text/plain" and head["Metadata"] == {"a": "b"}
assert head["ETag"] == '"%s"' % hashlib.md5(body).hexdigest()
assert "ChecksumSHA256" in head
assert s3.get_object(Bucket=bucket, Key=key)["Body"].read() == body
part = s3.get_object(Bucket=bucket, Key=key, Range="bytes=-6")
assert part["Body"].read() == b"hello " and part["ContentRange"] == "bytes 5994-5999/6000"
refused("InvalidRange", lambda: s3.get_object(Bucket=bucket, Key=key, Range="bytes=6000-"))
refused("PreconditionFailed", lambda: s3.put_object(Bucket=bucket, Key=key, Body=b"x", IfNoneMatch="*"))
refused("BadDigest", lambda: s3.put_object(Bucket=bucket, Key=key, Body=b"x", ChecksumSHA256="A" * 43 + "="))
refused("NoSuchKey", lambda: s3.get_object(Bucket=bucket, Key="none"))
refused("404", lambda: s3.head_object(Bucket=bucket, Key="none"))
refused("NoSuchBucket", lambda: s3.get_object(Bucket="none", Key="none"))

# A stream, and an upload in parts, in threads.
s3.put_object(Bucket=bucket, Key="stream", Body=io.BytesIO(body))
assert s3.get_object(Bucket=bucket, Key="stream")["Body"].read() == body
large = bytes(range(256)) * (17 * MIB // 256) + b"end"
config = TransferConfig(multipart_threshold=5 * MIB, multipart_chunksize=5 * MIB, max_concurrency=4)
s3.upload_fileobj(io.BytesIO(large), bucket, "large", Config=config, ExtraArgs={"ContentType": "a/b"})
copy = io.BytesIO()
s3.download_fileobj(bucket, "large", copy, Config=config)
assert copy.getvalue() == large
assert s3.head_object(Bucket=bucket, Key="large")["ETag"].endswith('-4"')

# An upload in parts, step by step.
upload = s3.create_multipart_upload(Bucket=bucket, Key="parts")["UploadId"]
at = {"Bucket": bucket, "Key": "parts", "UploadId": upload}
tags = [s3.upload_part(**at, PartNumber=number, Body=b"x" * 10)["ETag"] for number in (1, 2)]
parts = [{"PartNumber": number, "ETag": tag} for number, tag in enumerate(tags, 1)]
refused("EntityTooSmall", lambda: s3.complete_multipart_upload(**at, MultipartUpload={"Parts": parts}))
s3.complete_multipart_upload(**at, MultipartUpload={"Parts": parts[:1]})
assert s3.get_object(Bucket=bucket, Key="parts")["Body"].read() == b"x" * 10
upload = s3.create_multipart_upload(Bucket=bucket, Key="aborted")["UploadId"]
s3.abort_multipart_upload(Bucket=bucket, Key="aborted", UploadId=upload)
refused("NoSuchUpload", lambda: s3.upload_part(Bucket=bucket, Key="aborted", UploadId=upload, PartNumber=1, Body=b"x"))

# Presigned requests.
params = {"Bucket": bucket, "Key": key, "ResponseContentDisposition": 'attachment; filename="a b.txt"'}
address = s3.generate_presigned_url("get_object", Params=params, ExpiresIn=60)
status, answer, headers = fetch("GET", address)
assert (status, answer, headers["Content-Disposition"]) == (200, body, 'attachment; filename="a b.txt"')
assert fetch("GET", address.replace("a%20b", "a%20c"))[0] == 403
put = s3.generate_presigned_url("put_object", Params={"Bucket": bucket, "Key": "signed", "ContentType": "a/b"}, ExpiresIn=60)
assert fetch("PUT", put, b"signed", {"Content-Type": "a/c"})[0] == 403
assert fetch("PUT", put, b"signed", {"Content-Type": "a/b"})[0] == 200
assert s3.get_object(Bucket=bucket, Key="signed")["Body"].read() == b"signed"

s3.delete_object(Bucket=bucket, Key=key)
s3.delete_object(Bucket=bucket, Key=key)
refused("NoSuchKey", lambda: s3.get_object(Bucket=bucket, Key=key))
print("ok")
