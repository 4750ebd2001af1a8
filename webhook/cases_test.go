package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/internal/queue"
)

// signed are a delivery's headers.
func signed(event, guid string, body []byte) map[string]string {
	return map[string]string{"X-GitHub-Event": event, "X-GitHub-Delivery": guid, "X-Hub-Signature-256": sign(body)}
}

func TestAnEditBelowTheCommandChangesNoCommand(t *testing.T) {
	e, acts, err := Reduce("issue_comment", "d", testTime, read(t, "edit-below-the-command.json"))
	if err != nil || !acts {
		t.Fatalf("acts %v, %v", acts, err)
	}
	now, _ := Commands(e.Comment.Body)
	before, _ := Commands(e.Comment.OldBody)
	if len(now) != 1 || len(before) != 1 || e.Comment.Body == e.Comment.OldBody {
		t.Fatalf("read as %+v, and before as %+v", now, before)
	}
	if left := without(now, before); len(left) != 0 {
		t.Errorf("the edit gives %+v", left)
	}
}

// A pull request that is opened with the label is told twice within a second.
func TestOfAPullRequestOpenedWithTheLabelOneEventAsks(t *testing.T) {
	k := &kept{}
	at := startIntake(t, k)
	for i, file := range []string{"opened-with-label.json", "opened-then-labeled.json"} {
		body := read(t, file)
		guid := "00000000-0000-4000-8000-00000000000" + string(rune('1'+i))
		if status, said := deliver(t, at, body, signed("pull_request", guid, body)); status != 202 {
			t.Errorf("%s: answered %d (%s)", file, status, said)
		}
	}
	asking := slices.DeleteFunc(slices.Clone(k.events), func(e job.Event) bool { return e.Action != "labeled" })
	if len(k.events) != 2 || len(asking) != 1 || asking[0].Label != "benchmark" || k.events[0].Label != "" || k.events[0].HeadSHA != asking[0].HeadSHA {
		t.Errorf("kept %+v", k.events)
	}
}

func TestOneDeliveryThriceOverARestartAndFromASecondHookIsOneEvent(t *testing.T) {
	var c struct {
		Deliveries []map[string]string
		Payload    json.RawMessage
	}
	if err := json.Unmarshal(read(t, "one-delivery-thrice.json"), &c); err != nil || len(c.Deliveries) != 3 {
		t.Fatalf("%d deliveries, %v", len(c.Deliveries), err)
	}
	dir := t.TempDir()
	var answers []int
	var handled []string
	for _, times := range []int{1, 2} { // a restart is between the first and the others
		store, err := queue.Open(t.Context(), queue.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		for range times {
			d := c.Deliveries[len(answers)]
			in, err := NewIntake([]string{secret}, store.PublishEvent, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(in) // each hook has its own address
			status, _ := deliver(t, server.URL, c.Payload, signed(d["X-GitHub-Event"], d["X-GitHub-Delivery"], c.Payload))
			answers = append(answers, status)
			server.Close()
		}
		// What comes after it is handled after it: they have one pull request.
		last := job.Event{Version: 1, Delivery: fmt.Sprint("last of ", times), Repository: job.Repository{ID: 7001}, PR: 42}
		if _, err := store.PublishEvent(t.Context(), last); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		err = store.ConsumeEvents(ctx, func(_ context.Context, e job.Event) error {
			if e.Delivery == last.Delivery {
				stop()
			} else if !strings.HasPrefix(e.Delivery, "last of ") {
				handled = append(handled, e.Delivery)
			}
			return nil
		})
		stop()
		if err != nil {
			t.Fatal(err)
		}
		store.Close()
	}
	if !slices.Equal(answers, []int{202, 200, 200}) || len(handled) != 1 {
		t.Errorf("answered %v and handled %v", answers, handled)
	}
}

func TestAWorkflowsJobsToldOutOfOrderHaveNoEffect(t *testing.T) {
	var told []struct{ Event string }
	var bodies []json.RawMessage
	raw := read(t, "workflow-job-out-of-order.json")
	if err := json.Unmarshal(raw, &told); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &bodies); err != nil {
		t.Fatal(err)
	}
	k := &kept{}
	at := startIntake(t, k)
	for i, body := range bodies {
		guid := "00000000-0000-4000-8000-00000000000" + string(rune('1'+i))
		if status, said := deliver(t, at, body, signed(told[i].Event, guid, body)); status != 202 || !strings.Contains(said, "no effect") {
			t.Errorf("answered %d (%s)", status, said)
		}
	}
	if len(bodies) != 3 || len(k.events) != 0 {
		t.Errorf("of %d kept %+v", len(bodies), k.events)
	}
}
