package behave

import (
	"slices"
	"testing"
	"time"
)

// times returns the waits that a behaviour gives to count requests of one instant.
func times(t *testing.T, name string, seed uint64, count int) []time.Duration {
	t.Helper()
	behaviour, found := Named(name)
	if !found {
		t.Fatalf("there is no %s", name)
	}
	plan := behaviour.begin(seed)
	result := make([]time.Duration, count)
	for i := range result {
		result[i] = time.Duration(plan(request{number: uint64(i + 1), arrival: 7}).due - 7)
	}
	return result
}

func TestNamesAreUnique(t *testing.T) {
	for at, behaviour := range All {
		same := func(other Behaviour) bool { return other.Name == behaviour.Name }
		if slices.ContainsFunc(All[:at], same) {
			t.Errorf("%s is there twice", behaviour.Name)
		}
	}
}

func TestDrawsFollowTheSeed(t *testing.T) {
	for _, name := range []string{"exponential", "bimodal", "heavy-tail"} {
		first := times(t, name, 1, 1000)
		if !slices.Equal(first, times(t, name, 1, 1000)) {
			t.Errorf("%s: one seed gives two runs", name)
		}
		if slices.Equal(first, times(t, name, 2, 1000)) {
			t.Errorf("%s: two seeds give one run", name)
		}
	}
}

func TestDistributionsHaveTheirQuantiles(t *testing.T) {
	const ms = float64(time.Millisecond)
	cases := []struct {
		name        string
		share, want float64
	}{
		{"exponential", 0.5, 13.863 * ms},
		{"exponential", 0.99, 92.103 * ms},
		{"bimodal", 0.89, 5 * ms},
		{"bimodal", 0.91, 50 * ms},
		{"heavy-tail", 0.5, 4.762 * ms},
		{"heavy-tail", 0.99, 64.633 * ms},
		{"heavy-tail", 0.99999, 2000 * ms},
	}
	for _, one := range cases {
		drawn := times(t, one.name, 1, 200_000)
		slices.Sort(drawn)
		got := float64(drawn[int(one.share*float64(len(drawn)))])
		if got < 0.97*one.want || got > 1.03*one.want {
			t.Errorf("%s: %g of all are below %g ms, want %g", one.name, one.share, got/ms,
				one.want/ms)
		}
	}
}

func TestReloadsCloseTheConnectionsOfEarlierSecondsOnce(t *testing.T) {
	plan := reload(1)
	ask := func(connection uint64, sinceFirst time.Duration) ending {
		return plan(request{connection: connection, sinceFirst: sinceFirst}).ending
	}
	got := []ending{ask(1, 0), ask(2, 900*time.Millisecond), ask(2, time.Second),
		ask(3, 1100*time.Millisecond), ask(1, 1200*time.Millisecond), ask(3, 2*time.Second)}
	if want := []ending{keeps, keeps, drops, keeps, drops, drops}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestAHungServerAnswersUntilThen(t *testing.T) {
	plan := hung(1)
	wait := func(sinceFirst time.Duration) time.Duration {
		return time.Duration(plan(request{sinceFirst: sinceFirst}).due)
	}
	if wait(time.Second) > time.Second || wait(2*time.Second) < time.Minute {
		t.Errorf("%v and %v", wait(time.Second), wait(2*time.Second))
	}
}

func TestSummariesCountWhatIsGood(t *testing.T) {
	var truth truth
	second := instant(time.Second)
	for number, fate := range []Fate{Answered, Answered, Reset, Answered} {
		one := line{number: uint64(number), received: second, arrival: second + 3, fate: fate}
		one.done = 2*second + 5
		one.status = []int{200, 503, 0, 204}[number]
		truth.add(one)
	}
	truth.add(line{arrival: 2 * second, done: 3*second + 5, status: 200, fate: Gone})
	got := truth.summary("x")
	if got.Requests != 5 || got.Good != 2 || !slices.Equal(got.PerSecond, []uint64{0, 2}) ||
		got.Statuses[503] != 1 || got.Fates[Reset] != 1 || got.ServiceNS["p50"] != int64(second)+5 {
		t.Errorf("%+v", got)
	}
}
