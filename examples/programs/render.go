// Renders request.json. Start it by `go run render.go`.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"
)

type problem struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

func main() {
	request, err := os.ReadFile("request.json")
	if err != nil {
		log.Fatal(err)
	}
	client := http.Client{
		Timeout:       2 * time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for attempt := 1; ; attempt++ {
		status, header, body, err := render(&client, request)
		if status == http.StatusOK && err == nil {
			if err := os.WriteFile("document.pdf", body, 0o644); err != nil {
				log.Fatal(err)
			}
			return
		}
		wait := time.Second
		if err == nil {
			wait = retryAfter(status, header)
		}
		if wait >= 0 && attempt < 5 {
			time.Sleep(wait)
			continue
		}
		if err != nil {
			log.Fatal(err)
		}
		var failure problem
		if json.Unmarshal(body, &failure) != nil || failure.Code == "" {
			log.Fatalf("status %d did not come from the service", status)
		}
		log.Fatalf("%s: %s", failure.Code, failure.Detail)
	}
}

// How long to wait for a service, or a gateway, that asks for it: at most five minutes. Negative if neither does, and for a
// 408, which would only come again.
func retryAfter(status int, header http.Header) time.Duration {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return -1
	}
	value := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return min(time.Duration(seconds)*time.Second, 5*time.Minute)
	}
	if date, err := http.ParseTime(value); err == nil {
		return min(max(time.Until(date), 0), 5*time.Minute)
	}
	return -1
}

func render(client *http.Client, request []byte) (int, http.Header, []byte, error) {
	url := fmt.Sprintf("%s/v1/render", os.Getenv("SERVICE_URL"))
	post, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(request))
	if err != nil {
		return 0, nil, nil, err
	}
	post.Header.Set("Content-Type", "application/json")
	post.Header.Set("X-Service-Api-Token", os.Getenv("SERVICE_API_TOKEN"))
	response, err := client.Do(post)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	isWhole := bytes.HasSuffix(bytes.TrimRight(body, "\r\n"), []byte("%%EOF"))
	if err == nil && response.StatusCode == http.StatusOK && !isWhole {
		err = errors.New("the connection broke before the whole document had arrived")
	}
	return response.StatusCode, response.Header, body, err
}
