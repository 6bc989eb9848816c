"""A client of Offload's HTTP API with Python's standard library only: test/languages.ts runs it against a local server."""

import base64
import hashlib
import hmac
import http.server
import json
import os
import queue
import threading
import time
import urllib.error
import urllib.request
import uuid

URL = os.environ["OFFLOAD_URL"]
KEY = os.environ["OFFLOAD_KEY"]
PORT = int(os.environ["RECEIVER_PORT"])


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


opener = urllib.request.build_opener(NoRedirect)


def call(method, path, body=None, content_type="application/json", headers=None):
    """Sends a request. Returns its status, headers and body, whatever the status is."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data=data, method=method)
    request.add_header("Authorization", f"Bearer {KEY}")
    if data is not None:
        request.add_header("Content-Type", content_type)
    for name, value in (headers or {}).items():
        request.add_header(name, value)
    try:
        with opener.open(request, timeout=30) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as answer:
        return answer.code, answer.headers, answer.read()


def submit(body, **more):
    status, headers, answer = call("POST", "/tasks", body, **more)
    assert status == 202, (status, answer)
    assert headers["Content-Location"], headers
    return json.loads(answer)["task_id"]


def ended(task_id):
    """Polls as the Retry-After header says, at most a second, until the task has ended."""
    deadline = time.time() + 60
    while time.time() < deadline:
        status, headers, answer = call("GET", f"/tasks/{task_id}?wait=10")
        assert status == 200, (status, answer)
        task = json.loads(answer)
        if "Retry-After" not in headers:
            assert task["status"] == "completed", task
            return task
        time.sleep(min(1, int(headers["Retry-After"])))
    raise AssertionError("the task did not end")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def submit_and_poll():
    key = {"Idempotency-Key": str(uuid.uuid4())}
    body = {"type": "probe.echo", "input": {"value": "grüße 💥"}}
    task_id = submit(body, headers=key)
    assert submit(body, headers=key) == task_id
    assert ended(task_id)["result"] == {"value": "grüße 💥"}


def integers():
    for number in (2**53 - 1, -(2**53), 10**19, 10**22, 0):
        task = ended(submit({"type": "probe.echo", "input": {"value": number}}))
        assert task["result"]["value"] == number, task
    for number in (2**60, 2**53 + 1, -(2**63), 12345678901234567890):
        status, _, answer = call("POST", "/tasks", {"type": "probe.echo", "input": {"value": number}})
        assert status == 422 and "send it as text" in json.loads(answer)["detail"], answer
    big = str(2**60)
    assert ended(submit({"type": "probe.echo", "input": {"value": big}}))["result"]["value"] == big


def files_up():
    content = bytes(range(256)) * 300 + b"\xef\xbb\xbf--boundary\r\n"
    boundary = uuid.uuid4().hex
    name = 'a"b ü.csv'
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    form = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="task"\r\n\r\n{{"type":"probe.file","input":{{}}}}\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{quoted}"\r\n'
        f"Content-Type: text/csv; charset=windows-1252\r\n\r\n"
    ).encode() + content + f"\r\n--{boundary}--\r\n".encode()
    result = ended(submit(form, content_type=f"multipart/form-data; boundary={boundary}"))["result"]
    assert result["sha256"] == sha256(content) and result["size_bytes"] == len(content), result
    assert result["file_name"] == name and result["content_type"] == "text/csv; charset=windows-1252", result

    large = os.urandom(700_000)
    facts = {"content_type": "application/octet-stream", "size_bytes": len(large), "sha256": sha256(large)}
    status, _, answer = call("POST", "/uploads", facts)
    assert status == 201, answer
    upload = json.loads(answer)
    put = urllib.request.Request(upload["url"], data=large, method=upload["method"], headers=upload["headers"])
    with urllib.request.urlopen(put, timeout=30) as stored:
        assert stored.status == 200
    task_id = submit({"type": "probe.file", "input": {}, "files": {"file": upload["upload_id"]}})
    assert ended(task_id)["result"]["sha256"] == sha256(large)


def files_down():
    for size in (1_000, 300_000, 400_000):
        task_id = submit({"type": "probe.bytes", "input": {"bytes": size, "as": "file"}})
        ended(task_id)
        status, headers, content = call("GET", f"/tasks/{task_id}/result")
        if status == 303:
            with urllib.request.urlopen(headers["Location"], timeout=30) as answer:
                status, content = answer.status, answer.read()
        assert status == 200 and sha256(content) == sha256(bytes(size)), (status, len(content))


def webhook():
    received = queue.Queue()

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.put((self.headers, body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", PORT), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    status, _, answer = call("GET", "/webhooks/secret")
    assert status == 200, answer
    secret = base64.b64decode(json.loads(answer)["secret"].removeprefix("whsec_"))
    callback = {"url": f"http://127.0.0.1:{PORT}/hook", "include_result": True}
    task_id = submit({"type": "probe.echo", "input": {"value": 7}, "callback": callback})
    headers, body = received.get(timeout=60)
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    signature = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
    assert f"v1,{signature}" in headers["webhook-signature"].split(" "), headers["webhook-signature"]
    event = json.loads(body)
    assert event["type"] == "task.completed" and event["data"]["task_id"] == task_id, event
    server.shutdown()


for part in (submit_and_poll, integers, files_up, files_down, webhook):
    part()
    print(f"python: {part.__name__}")
