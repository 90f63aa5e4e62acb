// A client with gorilla/websocket as it is: it registers a channel, prints the endpoint, and once it has as many
// notifications as it is told, it acknowledges all of them in one message, which the library sends in fragments
// (its write buffer has 4,096 bytes). Then it comes again, and prints how many notifications it got.
//
//	gorilla ws://127.0.0.1:8080/ 29
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/gorilla/websocket"
)

type message struct {
	MessageType  string   `json:"messageType"`
	UAID         string   `json:"uaid,omitempty"`
	UseWebPush   bool     `json:"use_webpush,omitempty"`
	ChannelID    string   `json:"channelID,omitempty"`
	PushEndpoint string   `json:"pushEndpoint,omitempty"`
	Version      string   `json:"version,omitempty"`
	Updates      []update `json:"updates,omitempty"`
}

type update struct {
	ChannelID string `json:"channelID"`
	Version   string `json:"version"`
	Code      int    `json:"code"`
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func hello(url, uaid string) (*websocket.Conn, string) {
	connection, _, err := websocket.DefaultDialer.Dial(url, nil)
	check(err)
	check(connection.WriteJSON(message{MessageType: "hello", UAID: uaid, UseWebPush: true}))
	return connection, next(connection).UAID
}

func next(connection *websocket.Conn) message {
	var got message
	check(connection.ReadJSON(&got))
	return got
}

func main() {
	url := os.Args[1]
	wanted, err := strconv.Atoi(os.Args[2])
	check(err)
	connection, uaid := hello(url, "")
	check(connection.WriteJSON(message{MessageType: "register", ChannelID: "d9b74644-4f97-46aa-b8fa-9393985cd6cd"}))
	fmt.Println(next(connection).PushEndpoint)
	ack := message{MessageType: "ack"}
	for len(ack.Updates) < wanted {
		got := next(connection)
		ack.Updates = append(ack.Updates, update{got.ChannelID, got.Version, 100})
	}
	check(connection.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second)))
	text, err := json.Marshal(ack)
	check(err)
	if len(text) <= 4096 {
		check(fmt.Errorf("an ack of %d bytes is sent whole", len(text)))
	}
	check(connection.WriteMessage(websocket.TextMessage, text))
	// The answer to this comes behind the ack.
	check(connection.WriteJSON(message{MessageType: "unregister", ChannelID: "00000000-0000-4000-8000-000000000000"}))
	next(connection)
	connection.Close()

	connection, _ = hello(url, uaid)
	again := 0
	check(connection.SetReadDeadline(time.Now().Add(time.Second)))
	for {
		var got message
		if connection.ReadJSON(&got) != nil {
			break
		}
		again++
	}
	fmt.Println(again)
}
