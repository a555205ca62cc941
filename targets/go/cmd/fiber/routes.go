package main

import (
	"github.com/gofiber/fiber/v3"

	"ceiling.dev/targets/internal/contract"
)

type routes struct{ catalog *contract.Catalog }

// register leaves HEAD, 404 and 405 to the router of Fiber.
func (r routes) register(app *fiber.App) {
	app.Get(contract.PathSimple, simple)
	app.Get(contract.PathRead, r.read)
	app.Get(contract.PathReadLocked, r.readLocked)
	app.Get(contract.PathReadTable, r.readTable)
	app.Get(contract.PathReadGz, r.readGz)
	app.Get(contract.PathList, r.list)
	app.Get(contract.PathCompute, r.compute)
	app.Get(contract.PathHealthz, healthz)
	app.Post(contract.PathEcho, echo)
}

func simple(c fiber.Ctx) error {
	c.Response().Header.SetContentType(contract.TypeJSON)
	return c.Send(contract.BodySimple)
}

func healthz(c fiber.Ctx) error {
	c.Response().Header.SetContentType(contract.TypeText)
	return c.Send(contract.BodyHealthz)
}

func (r routes) read(c fiber.Ctx) error {
	c.Response().Header.SetContentType(contract.TypeJSON)
	return c.Send(r.catalog.Read().Bytes)
}

func (r routes) readLocked(c fiber.Ctx) error {
	c.Response().Header.SetContentType(contract.TypeJSON)
	return c.Send(r.catalog.ReadLocked().Bytes)
}

func (r routes) readTable(c fiber.Ctx) error {
	c.Response().Header.SetContentType(contract.TypeJSON)
	return c.Send(r.catalog.ReadTable().Bytes)
}

func (r routes) readGz(c fiber.Ctx) error {
	header := &c.Response().Header
	header.SetContentType(contract.TypeJSON)
	header.SetContentEncoding(contract.EncodingGzip)
	header.Set(fiber.HeaderVary, contract.VaryEncoding)
	return c.Send(r.catalog.ReadGz().Bytes)
}

func (r routes) list(c fiber.Ctx) error {
	c.Response().Header.SetContentType(contract.TypeJSON)
	batch := r.catalog.List()
	for piece := range batch.Pieces() {
		c.Response().AppendBody(piece)
	}
	return nil
}

func (r routes) compute(c fiber.Ctx) error {
	body, err := r.catalog.Compute()
	if err != nil {
		return err
	}
	c.Response().Header.SetContentType(contract.TypeJSON)
	return c.Send(body)
}

func echo(c fiber.Ctx) error {
	contentType := c.Request().Header.ContentType()
	if len(contentType) == 0 {
		contentType = []byte(contract.TypeBinary)
	}
	c.Response().Header.SetContentTypeBytes(contentType)
	// The unchanged body: c.Body would undo a Content-Encoding.
	return c.Send(c.BodyRaw())
}
