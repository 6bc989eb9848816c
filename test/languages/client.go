// A client of Offload's HTTP API with Go's standard library only: test/languages.ts runs it against a local server.
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"strings"
	"time"
)

var (
	url    = os.Getenv("OFFLOAD_URL")
	key    = os.Getenv("OFFLOAD_KEY")
	port   = os.Getenv("RECEIVER_PORT")
	client = &http.Client{
		Timeout:       40 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func check(holds bool, what ...any) {
	if !holds {
		log.Fatal(what...)
	}
}

func send(method, target, contentType string, body []byte, headers map[string]string) (*http.Response, []byte) {
	request, err := http.NewRequest(method, target, bytes.NewReader(body))
	must(err)
	if strings.HasPrefix(target, url) {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	answer, err := client.Do(request)
	must(err)
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	must(err)
	return answer, content
}

func post(path string, body any) (*http.Response, []byte) {
	text, err := json.Marshal(body)
	must(err)
	return send("POST", url+path, "application/json", text, nil)
}

// decoded keeps each number as its digits.
func decoded(content []byte) map[string]any {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	var value map[string]any
	must(decoder.Decode(&value))
	return value
}

func accepted(answer *http.Response, content []byte) string {
	check(answer.StatusCode == 202, answer.Status, string(content))
	return decoded(content)["task_id"].(string)
}

func ended(taskID string) map[string]any {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		answer, content := send("GET", url+"/tasks/"+taskID+"?wait=10", "", nil, nil)
		check(answer.StatusCode == 200, answer.Status, string(content))
		task := decoded(content)
		if answer.Header.Get("Retry-After") == "" {
			check(task["status"] == "completed", task)
			return task
		}
		time.Sleep(200 * time.Millisecond)
	}
	log.Fatal("the task did not end")
	return nil
}

func sum(content []byte) string {
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:])
}

type object = map[string]any

func echoed(value any) any {
	answer, content := post("/tasks", object{"type": "probe.echo", "input": object{"value": value}})
	return ended(accepted(answer, content))["result"].(object)["value"]
}

func submitAndPoll() {
	check(echoed("grüße 💥") == "grüße 💥", "the text changed")
}

func integers() {
	for _, number := range []int64{1<<53 - 1, -(1 << 53), 0, 1_000_000_000_000_000_000} {
		check(echoed(number).(json.Number).String() == fmt.Sprint(number), "the integer changed: ", number)
	}
	for _, number := range []int64{1 << 60, 1<<53 + 1, -1 << 63} {
		answer, content := post("/tasks", object{"type": "probe.echo", "input": object{"value": number}})
		check(answer.StatusCode == 422 && strings.Contains(string(content), "send it as text"), string(content))
	}
	check(echoed("1152921504606846976") == "1152921504606846976", "the text changed")
}

func filesUp() {
	content := []byte("\xef\xbb\xbfa;b\xe4\r\n--boundary\r\n")
	for value := range 70_000 {
		content = append(content, byte(value))
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	must(form.WriteField("task", `{"type":"probe.file","input":{}}`))
	name := `a"b\c ü.txt`
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", multipart.FileContentDisposition("file", name))
	header.Set("Content-Type", "text/plain; charset=iso-8859-1")
	part, err := form.CreatePart(header)
	must(err)
	_, err = part.Write(content)
	must(err)
	must(form.Close())
	result := ended(accepted(send("POST", url+"/tasks", form.FormDataContentType(), body.Bytes(), nil)))["result"].(object)
	check(result["sha256"] == sum(content), "the file changed: ", result)
	check(result["file_name"] == name, "the name changed: ", result)

	large := make([]byte, 700_000)
	_, err = rand.Read(large)
	must(err)
	answer, text := post("/uploads", object{"content_type": "application/pdf", "size_bytes": len(large), "sha256": sum(large)})
	check(answer.StatusCode == 201, string(text))
	upload := decoded(text)
	headers := map[string]string{}
	for name, value := range upload["headers"].(object) {
		headers[name] = fmt.Sprint(value)
	}
	stored, why := send(upload["method"].(string), upload["url"].(string), "", large, headers)
	check(stored.StatusCode == 200, stored.Status, string(why))
	body2, submitted := post("/tasks", object{"type": "probe.file", "input": object{}, "files": object{"file": upload["upload_id"]}})
	check(ended(accepted(body2, submitted))["result"].(object)["sha256"] == sum(large), "the upload changed")
}

func filesDown() {
	for _, size := range []int{1_000, 300_000, 400_000} {
		answer, content := post("/tasks", object{"type": "probe.bytes", "input": object{"bytes": size, "as": "file"}})
		taskID := accepted(answer, content)
		ended(taskID)
		result, file := send("GET", url+"/tasks/"+taskID+"/result", "", nil, nil)
		if result.StatusCode == 303 {
			result, file = send("GET", result.Header.Get("Location"), "", nil, nil)
		}
		check(result.StatusCode == 200 && sum(file) == sum(make([]byte, size)), "the file changed: ", result.Status)
	}
}

func webhook() {
	type hook struct {
		header http.Header
		body   []byte
	}
	received := make(chan hook, 10)
	server := &http.Server{Addr: "127.0.0.1:" + port, Handler: http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		received <- hook{request.Header, body}
		writer.WriteHeader(204)
	})}
	go server.ListenAndServe()
	defer server.Close()
	_, text := send("GET", url+"/webhooks/secret", "", nil, nil)
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(decoded(text)["secret"].(string), "whsec_"))
	must(err)
	callback := object{"url": "http://127.0.0.1:" + port + "/hook"}
	answer, content := post("/tasks", object{"type": "probe.echo", "input": object{"value": 7}, "callback": callback})
	taskID := accepted(answer, content)
	select {
	case got := <-received:
		mac := hmac.New(sha256.New, secret)
		fmt.Fprintf(mac, "%s.%s.%s", got.header.Get("webhook-id"), got.header.Get("webhook-timestamp"), got.body)
		signature := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		check(strings.Contains(got.header.Get("webhook-signature"), signature), "the signature is wrong")
		check(decoded(got.body)["data"].(object)["task_id"] == taskID, string(got.body))
	case <-time.After(time.Minute):
		log.Fatal("no webhook came")
	}
}

func main() {
	for _, part := range []struct {
		name string
		run  func()
	}{{"submitAndPoll", submitAndPoll}, {"integers", integers}, {"filesUp", filesUp}, {"filesDown", filesDown}, {"webhook", webhook}} {
		part.run()
		fmt.Println("go:", part.name)
	}
}
