// Command main serves with Gin or Echo. APP: wait (Gin, a limiter of RATE per second that lets
// requests wait), compute (Gin, ROUNDS of a hash), page (Gin), refuse (Echo, its middleware that
// refuses above RATE per second), sleep (Echo, each request sleeps SLEEP_MS).
package main

import (
	"crypto/sha256"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"golang.org/x/time/rate"
)

func number(name string) float64 {
	value, _ := strconv.ParseFloat(os.Getenv(name), 64)
	return value
}

func main() {
	address := ":" + os.Getenv("PORT")
	switch app := os.Getenv("APP"); app {
	case "refuse", "sleep":
		server := echo.New()
		server.HideBanner = true
		if app == "refuse" {
			limit := rate.Limit(number("RATE"))
			server.Use(middleware.RateLimiter(middleware.NewRateLimiterMemoryStore(limit)))
		}
		sleep := time.Duration(number("SLEEP_MS") * float64(time.Millisecond))
		server.GET("/", func(c echo.Context) error {
			time.Sleep(sleep)
			return c.String(http.StatusOK, "page\n")
		})
		server.Logger.Fatal(server.Start(address))
	default:
		gin.SetMode(gin.ReleaseMode)
		server := gin.New()
		server.GET("/", handler(app))
		panic(server.Run(address))
	}
}

func handler(app string) gin.HandlerFunc {
	limiter := rate.NewLimiter(rate.Limit(number("RATE")), 1)
	rounds := int(number("ROUNDS"))
	return func(c *gin.Context) {
		sum := [32]byte{}
		switch app {
		case "wait":
			if limiter.Wait(c.Request.Context()) != nil {
				return
			}
		case "compute":
			for range rounds {
				sum = sha256.Sum256(sum[:])
			}
		}
		c.String(http.StatusOK, "page %x\n", sum[:2])
	}
}
