package contract

import (
	"fmt"
	"math"
	"strings"

	"github.com/brianvoe/gofakeit/v7"
)

// Product is one row of the catalog, of the size and shape of a shop's product page.
type Product struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Brand       string            `json:"brand"`
	Category    string            `json:"category"`
	Price       float64           `json:"price"`
	Rating      float64           `json:"rating"`
	Reviews     int               `json:"reviews"`
	Description string            `json:"description"`
	Tags        []string          `json:"tags"`
	Attributes  map[string]string `json:"attributes"`
	Images      []string          `json:"images"`
}

const (
	brandCount               = 40
	descriptionParagraphs    = 5
	sentenceGroupsMin        = 5
	sentenceGroupsMax        = 6
	tagsMin, tagsMax         = 5, 15
	imagesMin, imagesMax     = 3, 8
	priceMin, priceMax       = 5, 1000
	ratingMin, ratingMax     = 1, 5
	reviewsMin, reviewsMax   = 0, 5000
	weightMinG, weightMaxG   = 50, 20_000
	warrantyMin, warrantyMax = 6, 60
)

// factory makes products from one seeded stream, so a seed fixes the whole pool.
type factory struct {
	faker *gofakeit.Faker
	// A shop has few brands and many products; with a fresh brand per product the top brands of
	// /compute would all have one product.
	brands []string
}

func newFactory(seed uint64) *factory {
	if seed == 0 {
		// gofakeit takes 0 as "choose a seed yourself", so --pool-seed 0 would not be reproducible.
		seed = math.MaxUint64
	}
	faker := gofakeit.New(seed)
	brands := make([]string, brandCount)
	for i := range brands {
		brands[i] = faker.Company()
	}
	return &factory{faker: faker, brands: brands}
}

func (f *factory) product() Product {
	faker := f.faker
	id := faker.UUID()
	return Product{
		ID:          id,
		Name:        faker.ProductName(),
		Brand:       f.brands[faker.IntRange(0, len(f.brands)-1)],
		Category:    faker.ProductCategory(),
		Price:       faker.Price(priceMin, priceMax),
		Rating:      math.Round(faker.Float64Range(ratingMin, ratingMax)*10) / 10,
		Reviews:     faker.IntRange(reviewsMin, reviewsMax),
		Description: f.description(),
		Tags:        f.tags(),
		Attributes:  f.attributes(),
		Images:      f.images(id),
	}
}

func (f *factory) description() string {
	paragraphs := make([]string, descriptionParagraphs)
	for i := range paragraphs {
		groups := make([]string, f.faker.IntRange(sentenceGroupsMin, sentenceGroupsMax))
		for j := range groups {
			groups[j] = f.faker.Paragraph()
		}
		paragraphs[i] = strings.Join(groups, " ")
	}
	return strings.Join(paragraphs, "\n\n")
}

func (f *factory) tags() []string {
	tags := make([]string, f.faker.IntRange(tagsMin, tagsMax))
	for i := range tags {
		tags[i] = f.faker.ProductFeature()
	}
	return tags
}

func (f *factory) attributes() map[string]string {
	faker := f.faker
	return map[string]string{
		"color":           faker.Color(),
		"material":        faker.ProductMaterial(),
		"size":            faker.ProductDimension(),
		"weight_g":        fmt.Sprint(faker.IntRange(weightMinG, weightMaxG)),
		"origin":          faker.Country(),
		"warranty_months": fmt.Sprint(faker.IntRange(warrantyMin, warrantyMax)),
		"benefit":         faker.ProductBenefit(),
	}
}

func (f *factory) images(id string) []string {
	images := make([]string, f.faker.IntRange(imagesMin, imagesMax))
	for i := range images {
		images[i] = fmt.Sprintf("https://img.example.com/products/%s/%d.jpg", id, i+1)
	}
	return images
}
