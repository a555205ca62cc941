package contract

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
)

func TestSummarise(t *testing.T) {
	sample := []*Product{
		{ID: "d", Brand: "B", Price: 999.99},
		{ID: "a", Brand: "A", Price: 5},
		{ID: "c", Brand: "A", Price: 199.99},
		{ID: "b", Brand: "C", Price: 100},
		{ID: "e", Brand: "B", Price: 1000},
	}
	got := Summarise(sample)
	var order string
	for _, product := range sample {
		order += product.ID
	}
	if order != "abcde" {
		t.Errorf("sorted as %s", order)
	}
	if math.Abs(got.Mean-460.996) > 1e-9 || got.Median != 199.99 {
		t.Errorf("mean %v, median %v", got.Mean, got.Median)
	}
	if math.Abs(got.Deviation-444.390468) > 1e-6 {
		t.Errorf("standard deviation %v", got.Deviation)
	}
	var counts []int
	for _, bin := range got.Histogram {
		counts = append(counts, bin.Count)
	}
	if !slices.Equal(counts, []int{1, 2, 0, 0, 0, 0, 0, 0, 0, 2}) {
		t.Errorf("histogram %v", counts)
	}
	if !slices.Equal(got.TopBrands, []BrandCount{{"A", 2}, {"B", 2}, {"C", 1}}) {
		t.Errorf("top brands %v", got.TopBrands)
	}
	if got.Cheapest[0].ID != "a" || got.Dearest[2].ID != "e" {
		t.Errorf("cheapest %v, dearest %v", got.Cheapest, got.Dearest)
	}
}

func TestSummariseOfOne(t *testing.T) {
	got := Summarise([]*Product{{ID: "a", Price: 7}})
	if got.Mean != 7 || got.Median != 7 || got.Deviation != 0 || len(got.Cheapest) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestComputeIsSmall(t *testing.T) {
	body, err := defaultPool().Compute()
	if err != nil || !json.Valid(body) || len(body) > 4096 {
		t.Errorf("%d bytes, %v", len(body), err)
	}
}
