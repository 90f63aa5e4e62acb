// CloudEvents' library for Go, as its README shows it: sends an event, and reads what a webhook got.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/binding"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
)

type event struct {
	ID         string                 `json:"id"`
	Source     string                 `json:"source"`
	Type       string                 `json:"type"`
	Subject    string                 `json:"subject"`
	Time       string                 `json:"time"`
	Extensions map[string]interface{} `json:"extensions"`
	DataType   string                 `json:"datacontenttype"`
	Data       string                 `json:"data"` // base64 of its bytes
}

type call struct {
	Do      string            `json:"do"`   // send, read
	Mode    string            `json:"mode"` // structured, binary, batch
	URL     string            `json:"url"`
	Token   string            `json:"token"`
	Events  []event           `json:"events"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"` // base64
}

func must(err error) {
	if err != nil {
		line, _ := json.Marshal(map[string]string{"error": err.Error()})
		fmt.Println(string(line))
		os.Exit(0)
	}
}

func made(e event) cloudevents.Event {
	out := cloudevents.NewEvent()
	out.SetID(e.ID)
	out.SetSource(e.Source)
	out.SetType(e.Type)
	if e.Subject != "" {
		out.SetSubject(e.Subject)
	}
	if e.Time != "" {
		at, err := time.Parse(time.RFC3339Nano, e.Time)
		must(err)
		out.SetTime(at)
	}
	for name, value := range e.Extensions {
		out.SetExtension(name, value)
	}
	data, err := base64.StdEncoding.DecodeString(e.Data)
	must(err)
	if e.DataType != "" {
		must(out.SetData(e.DataType, data))
	}
	return out
}

func send(c call) {
	ctx := context.Background()
	var request *http.Request
	var err error
	if c.Mode == "batch" {
		var events []cloudevents.Event
		for _, one := range c.Events {
			events = append(events, made(one))
		}
		request, err = cehttp.NewHTTPRequestFromEvents(ctx, c.URL, events)
	} else {
		if c.Mode == "structured" {
			ctx = binding.WithForceStructured(ctx)
		} else {
			ctx = binding.WithForceBinary(ctx)
		}
		request, err = cehttp.NewHTTPRequestFromEvent(ctx, c.URL, made(c.Events[0]))
	}
	must(err)
	request.Header.Set("Authorization", "Bearer "+c.Token)
	response, err := http.DefaultClient.Do(request)
	must(err)
	body, _ := io.ReadAll(response.Body)
	line, _ := json.Marshal(map[string]interface{}{"status": response.StatusCode, "answer": string(body)})
	fmt.Println(string(line))
}

func read(c call) {
	body, err := base64.StdEncoding.DecodeString(c.Body)
	must(err)
	request, err := http.NewRequest("POST", "http://receiver.test/", bytes.NewReader(body))
	must(err)
	for name, value := range c.Headers {
		request.Header.Set(name, value)
	}
	got, err := cehttp.NewEventFromHTTPRequest(request)
	must(err)
	must(got.Validate())
	out := event{ID: got.ID(), Source: got.Source(), Type: got.Type(), Subject: got.Subject(),
		Extensions: got.Extensions(), DataType: got.DataContentType(),
		Data: base64.StdEncoding.EncodeToString(got.Data())}
	if !got.Time().IsZero() {
		out.Time = got.Time().Format(time.RFC3339Nano)
	}
	line, _ := json.Marshal(out)
	fmt.Println(string(line))
}

func main() {
	var c call
	must(json.NewDecoder(os.Stdin).Decode(&c))
	if c.Do == "send" {
		send(c)
	} else {
		read(c)
	}
}
