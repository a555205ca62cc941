package contract

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
)

const (
	computeSample   = 100
	histogramStep   = 100
	histogramBins   = (priceMax + histogramStep - 1) / histogramStep
	topBrandsLimit  = 5
	extremesPerSide = 3
)

// Summary is the response of one /compute. It has only the first and last products of the sorted
// sample: the route loads the CPU, and a hundred products in the response would load the network
// instead.
type Summary struct {
	Count     int          `json:"count"`
	Mean      float64      `json:"price_mean"`
	Deviation float64      `json:"price_stddev"`
	Median    float64      `json:"price_median"`
	Histogram []Bin        `json:"price_histogram"`
	TopBrands []BrandCount `json:"top_brands"`
	Cheapest  []PriceTag   `json:"cheapest"`
	Dearest   []PriceTag   `json:"dearest"`
}

// Bin counts the prices in [From, To).
type Bin struct {
	From  int `json:"from"`
	To    int `json:"to"`
	Count int `json:"count"`
}

// BrandCount is the number of products of one brand in the sample.
type BrandCount struct {
	Brand string `json:"brand"`
	Count int    `json:"count"`
}

// PriceTag points at a product.
type PriceTag struct {
	ID    string  `json:"id"`
	Name  string  `json:"name"`
	Price float64 `json:"price"`
}

// Compute serves one /compute: it draws a random sample, with replacement, and summarises it.
func (c *Catalog) Compute() ([]byte, error) {
	sample := make([]*Product, computeSample)
	for i := range sample {
		sample[i] = &c.Products[pick()]
	}
	return json.Marshal(Summarise(sample))
}

// Summarise sorts the sample by price in place and describes it. The sample must not be empty.
func Summarise(sample []*Product) Summary {
	slices.SortFunc(sample, func(a, b *Product) int {
		return cmp.Or(cmp.Compare(a.Price, b.Price), strings.Compare(a.ID, b.ID))
	})
	mean, deviation := moments(sample)
	ends := min(extremesPerSide, len(sample))
	return Summary{
		Count:     len(sample),
		Mean:      mean,
		Deviation: deviation,
		Median:    median(sample),
		Histogram: histogram(sample),
		TopBrands: topBrands(sample),
		Cheapest:  priceTags(sample[:ends]),
		Dearest:   priceTags(sample[len(sample)-ends:]),
	}
}

func moments(sample []*Product) (mean, deviation float64) {
	for _, product := range sample {
		mean += product.Price
	}
	mean /= float64(len(sample))
	for _, product := range sample {
		deviation += (product.Price - mean) * (product.Price - mean)
	}
	return mean, math.Sqrt(deviation / float64(len(sample)))
}

func median(sorted []*Product) float64 {
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle].Price
	}
	return (sorted[middle-1].Price + sorted[middle].Price) / 2
}

func histogram(sample []*Product) []Bin {
	bins := make([]Bin, histogramBins)
	for i := range bins {
		bins[i] = Bin{From: i * histogramStep, To: (i + 1) * histogramStep}
	}
	for _, product := range sample {
		// The highest price lies on the upper edge of the last bin and is counted there.
		bins[min(int(product.Price)/histogramStep, histogramBins-1)].Count++
	}
	return bins
}

func topBrands(sample []*Product) []BrandCount {
	counts := make(map[string]int)
	for _, product := range sample {
		counts[product.Brand]++
	}
	brands := make([]BrandCount, 0, len(counts))
	for brand, count := range counts {
		brands = append(brands, BrandCount{brand, count})
	}
	slices.SortFunc(brands, func(a, b BrandCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Brand, b.Brand))
	})
	return brands[:min(topBrandsLimit, len(brands))]
}

func priceTags(products []*Product) []PriceTag {
	tags := make([]PriceTag, len(products))
	for i, product := range products {
		tags[i] = PriceTag{ID: product.ID, Name: product.Name, Price: product.Price}
	}
	return tags
}
