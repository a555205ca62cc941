package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// steps are what a customer can do.
var steps = []string{"login", "page", "products", "basket", "show", "checkout"}

func isStep(name string) bool { return slices.Contains(steps, name) }

// password is that of every customer.
const password = "s3cret"

// session is what a login gives.
type session struct {
	user  string
	csrf  string
	until time.Time
}

// shop has everything in memory.
type shop struct {
	options     options
	connections atomic.Uint64
	asked       atomic.Uint64
	checkouts   chan struct{}

	mutex    sync.Mutex
	sessions map[string]session
	baskets  map[string]string
	counts   map[string]map[string]uint64
	begin    time.Time
}

func newShop(options options) *shop {
	shop := &shop{
		options: options, sessions: map[string]session{}, baskets: map[string]string{},
		counts: map[string]map[string]uint64{},
	}
	if options.checkouts > 0 {
		shop.checkouts = make(chan struct{}, options.checkouts)
	}
	return shop
}

func (s *shop) connection(_ net.Conn, state http.ConnState) {
	if state == http.StateNew {
		s.connections.Add(1)
	}
}

func (s *shop) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", s.step("login", s.login))
	mux.HandleFunc("GET /page", s.step("page", s.signedIn(s.page)))
	mux.HandleFunc("GET /products", s.step("products", s.products))
	mux.HandleFunc("POST /basket", s.step("basket", s.signedIn(s.basket)))
	mux.HandleFunc("GET /basket/{id}", s.step("show", s.signedIn(s.show)))
	mux.HandleFunc("POST /checkout", s.step("checkout", s.signedIn(s.checkout)))
	return mux
}

// answer writes a response and counts it.
type answer struct {
	status int
	header map[string]string
	body   any
}

func failure(status int, why string) answer {
	return answer{status: status, body: map[string]string{"error": why}}
}

// step delays, fails and counts as the options say.
func (s *shop) step(name string, handle func(*http.Request) answer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.freeze()
		if s.options.slow == name {
			time.Sleep(s.options.slowFor)
		}
		given := handle(r)
		if s.options.fail == name && s.options.every > 0 && s.asked.Add(1)%s.options.every == 0 {
			given = failure(http.StatusInternalServerError, "out of order")
		}
		s.mutex.Lock()
		if s.counts[name] == nil {
			s.counts[name] = map[string]uint64{}
		}
		s.counts[name][strconv.Itoa(given.status)]++
		s.mutex.Unlock()
		for name, value := range given.header {
			w.Header().Set(name, value)
		}
		text, isText := given.body.(string)
		if isText {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(given.status)
			fmt.Fprint(w, text)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(given.status)
		json.NewEncoder(w).Encode(given.body)
	}
}

// freeze holds everything up once.
func (s *shop) freeze() {
	s.mutex.Lock()
	now := time.Now()
	if s.begin.IsZero() {
		s.begin = now
	}
	since := now.Sub(s.begin)
	after, until := s.options.freezeAfter, s.options.freezeAfter+s.options.freezeFor
	s.mutex.Unlock()
	if since >= after && since < until {
		time.Sleep(until - since)
	}
}

func (s *shop) counted() map[string]map[string]uint64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.counts
}

func (s *shop) login(r *http.Request) answer {
	var asked struct{ User, Password string }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return failure(http.StatusBadRequest, "no JSON")
	}
	if asked.Password != password || asked.User == "" {
		return failure(http.StatusUnauthorized, "wrong user or password")
	}
	token, csrf := rand.Text(), rand.Text()
	until := time.Now().Add(s.options.tokenFor)
	s.mutex.Lock()
	s.sessions[token] = session{user: asked.User, csrf: csrf, until: until}
	s.mutex.Unlock()
	cookie := "session=" + token + "; Path=/; HttpOnly; SameSite=Lax"
	user := map[string]any{"name": asked.User, "roles": []string{"customer", "reader"}}
	return answer{
		status: http.StatusOK, header: map[string]string{"Set-Cookie": cookie},
		body: map[string]any{"token": token, "user": user},
	}
}

// signedIn takes the token of the header, or else that of the cookie.
func (s *shop) signedIn(next func(*http.Request, session) answer) func(*http.Request) answer {
	return func(r *http.Request) answer {
		token, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !isBearer {
			if cookie, err := r.Cookie("session"); err == nil {
				token = cookie.Value
			}
		}
		s.mutex.Lock()
		session, isKnown := s.sessions[token]
		s.mutex.Unlock()
		if !isKnown || time.Now().After(session.until) {
			return failure(http.StatusUnauthorized, "not signed in")
		}
		return next(r, session)
	}
}

func (s *shop) page(_ *http.Request, session session) answer {
	form := `<form method="post"><input type="hidden" name="_csrf" value="` + session.csrf +
		`"><p>Hello, ` + session.user + `</p></form>`
	return answer{status: http.StatusOK, body: form}
}

func (s *shop) products(r *http.Request) answer {
	page, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil || page < 1 {
		return failure(http.StatusBadRequest, "no page")
	}
	type product struct {
		ID    int     `json:"id"`
		Name  string  `json:"name"`
		Price float64 `json:"price"`
	}
	var products []product
	for id := page * 10; id < page*10+10; id++ {
		products = append(products, product{ID: id, Name: fmt.Sprint("thing ", id), Price: 9.5})
	}
	return answer{status: http.StatusOK, body: map[string]any{"page": page, "products": products}}
}

func (s *shop) basket(r *http.Request, session session) answer {
	if r.FormValue("_csrf") != session.csrf {
		return failure(http.StatusForbidden, "the form is not of this session")
	}
	product := r.FormValue("product")
	if product == "" {
		return failure(http.StatusBadRequest, "no product")
	}
	id := rand.Text()
	s.mutex.Lock()
	s.baskets[id] = product
	s.mutex.Unlock()
	return answer{
		status: http.StatusSeeOther, body: "",
		header: map[string]string{"Location": "/basket/" + id},
	}
}

func (s *shop) show(r *http.Request, session session) answer {
	id := r.PathValue("id")
	s.mutex.Lock()
	product, isKnown := s.baskets[id]
	s.mutex.Unlock()
	if !isKnown {
		return failure(http.StatusNotFound, "no such basket")
	}
	body := map[string]any{"id": id, "owner": session.user, "items": []string{product}}
	return answer{status: http.StatusOK, body: body}
}

func (s *shop) checkout(r *http.Request, session session) answer {
	var asked struct{ Basket string }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return failure(http.StatusBadRequest, "no JSON")
	}
	if s.checkouts != nil {
		s.checkouts <- struct{}{}
		defer func() { <-s.checkouts }()
		time.Sleep(5 * time.Millisecond)
	}
	s.mutex.Lock()
	_, isKnown := s.baskets[asked.Basket]
	delete(s.baskets, asked.Basket)
	s.mutex.Unlock()
	if !isKnown {
		return failure(http.StatusNotFound, "no such basket")
	}
	body := map[string]string{"order": rand.Text(), "owner": session.user}
	return answer{status: http.StatusCreated, body: body}
}
