// webpush-go, as its README shows it.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	webpush "github.com/SherClockHolmes/webpush-go"
)

type call struct {
	Subscription webpush.Subscription `json:"subscription"`
	Vapid        struct {
		PublicKey  string `json:"publicKey"`
		PrivateKey string `json:"privateKey"`
		Subject    string `json:"subject"`
	} `json:"vapid"`
	Payload    *string `json:"payload"`
	TTL        int     `json:"ttl"`
	Topic      string  `json:"topic"`
	Urgency    string  `json:"urgency"`
	RecordSize uint32  `json:"recordSize"` // 0: the library's own, 4096
}

type result struct {
	Status     int     `json:"status"`
	Expired    bool    `json:"expired"`
	RetryAfter *string `json:"retryAfter"`
	Error      *string `json:"error"`
}

func main() {
	var c call
	if err := json.NewDecoder(os.Stdin).Decode(&c); err != nil {
		panic(err)
	}
	var payload []byte
	if c.Payload != nil {
		payload = []byte(*c.Payload)
	}
	var r result
	response, err := webpush.SendNotification(payload, &c.Subscription, &webpush.Options{
		Subscriber:      c.Vapid.Subject,
		VAPIDPublicKey:  c.Vapid.PublicKey,
		VAPIDPrivateKey: c.Vapid.PrivateKey,
		TTL:             c.TTL,
		Topic:           c.Topic,
		Urgency:         webpush.Urgency(c.Urgency),
		RecordSize:      c.RecordSize,
	})
	if err != nil {
		text := err.Error()
		r.Error = &text
	} else {
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		r.Status = response.StatusCode
		r.Expired = response.StatusCode == 404 || response.StatusCode == 410
		if after := response.Header.Get("Retry-After"); after != "" {
			r.RetryAfter = &after
		}
		if response.StatusCode >= 300 {
			text := string(body)
			r.Error = &text
		}
	}
	line, _ := json.Marshal(r)
	fmt.Println(string(line))
}
