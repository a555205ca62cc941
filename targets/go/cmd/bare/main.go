// Command bare serves /simple with a bare library, as the baseline for a target. It has no
// counters, no life cycle and no other route; it prints the two lines so that it can be started
// like a target.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
)

var body = []byte(`{"message":"hi"}`)

const typeJSON = "application/json"

var libraries = map[string]func(listener net.Listener) error{
	"fasthttp": func(listener net.Listener) error {
		return fasthttp.Serve(listener, func(ctx *fasthttp.RequestCtx) {
			ctx.SetContentType(typeJSON)
			ctx.SetBody(body)
		})
	},
	"fiber": func(listener net.Listener) error {
		app := fiber.New()
		app.Get("/simple", func(c fiber.Ctx) error {
			c.Set(fiber.HeaderContentType, typeJSON)
			return c.Send(body)
		})
		return app.Listener(listener, fiber.ListenConfig{DisableStartupMessage: true})
	},
	"nethttp": func(listener net.Listener) error {
		http.HandleFunc("GET /simple", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", typeJSON)
			_, _ = w.Write(body)
		})
		return http.Serve(listener, nil)
	},
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("bare: ")
	if len(os.Args) != 2 || libraries[os.Args[1]] == nil {
		log.Print("takes fasthttp, fiber or nethttp, for example bare fasthttp")
		os.Exit(2)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("{\"event\":\"listening\",\"addr\":%q}\n", listener.Addr())
	log.Fatal(libraries[os.Args[1]](listener))
}
