// Copyright the deed authors. SPDX-License-Identifier: Apache-2.0

package scenarios_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/deed-run/deed/faultkit"
	"github.com/deed-run/deed/faultkit/caller"
)

// agent is a scripted model. It decides from what a model is shown: text blocks,
// and what its framework puts around them. It never sees isError or _meta.
type agent string

const (
	// naive follows every nudge to try again, each time under a new key and in
	// other words.
	naive agent = "NAIVE"
	// timid stops at the first thing that looks like an error, unless the text
	// says to make the same call again.
	timid agent = "TIMID"
)

func agents() []agent { return []agent{naive, timid} }

// rounds bounds how often an agent calls for one intended action.
const rounds = 6

// intent is one action that an agent wants.
type intent struct {
	tool string
	// subject names the action's business argument and its value.
	subject, op string
	// keyless tools show the agent no key property.
	keyless bool
	meta    object
}

func orderIntent(op string) intent { return intent{tool: "pay.charge", subject: "order_id", op: op} }

func mailIntent(op string) intent { return intent{tool: "mail.send", subject: "id", op: op} }

// call is the intent in the agent's words.
func (in intent) call(key string, wording int) caller.Call {
	arguments := object{in.subject: in.op, "amount": 100, "note": fmt.Sprintf("as the customer asked, in words no. %d", wording)}
	if !in.keyless {
		arguments["idempotency_key"] = key
	}
	return caller.Call{Tool: in.tool, Arguments: raw(arguments), Meta: in.meta}
}

// conclusion is what an agent tells its user at the end.
type conclusion struct {
	// done: the agent holds a result. Otherwise text is what it was left with.
	done  bool
	text  string
	steps []faultkit.Step
}

// screen is what an agent's framework shows of an answer.
func screen(step faultkit.Step) (texts []string, nudged bool) {
	if step.Err != nil {
		return []string{"the tool call failed: " + step.Err.Error()}, true
	}
	return step.Result.Texts, step.Result.IsError
}

// pursue lets the agent act on its intent until it holds a result or gives up.
// A gateway that died is started again meanwhile, as a host does.
func (w *world) pursue(a agent, in intent) conclusion {
	w.Helper()
	return w.resume(a, in, "first")
}

// resume is pursue in a turn of its own, which names the action anew.
func (w *world) resume(a agent, in intent, turn string) conclusion {
	w.Helper()
	var end conclusion
	key, wording := fmt.Sprintf("%s:%s:%s", in.tool, in.op, turn), 0
	for range rounds {
		step := w.send(w.running, in.call(key, wording))
		end.steps = append(end.steps, step)
		w.speaks(step, in)
		texts, nudged := screen(step)
		end.text = strings.Join(texts, "\n")
		if !nudged {
			end.done = true
			return end
		}
		w.revive(step)
		if a == naive {
			wording++
			key = fmt.Sprintf("%s:%s:%s-%d", in.tool, in.op, turn, wording)
			continue
		}
		pause, again := toldToRepeat(texts)
		if !again {
			return end
		}
		w.wait(pause)
	}
	return end
}

// revive starts the gateway again when it died under a call.
func (w *world) revive(step faultkit.Step) {
	w.Helper()
	if !errors.Is(step.Err, caller.ErrNoAnswer) {
		return
	}
	select {
	case <-w.running.Died():
	case <-w.Context().Done():
		return
	}
	w.running.Kill()
	if w.gateway.Binary == built.skewed && w.database == "" {
		w.later(time.Minute)
	}
	w.start()
}

// wait waits as a text asks, but no longer than a second: who comes early is told
// so again.
func (w *world) wait(pause time.Duration) {
	timer := time.NewTimer(min(pause, time.Second))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.Context().Done():
	}
}

var repeat = regexp.MustCompile(`(?:In|after) (\d+) s\b`)

// toldToRepeat reads the prose: does it say to make the same call again, and when?
func toldToRepeat(texts []string) (time.Duration, bool) {
	for _, text := range texts {
		low := strings.ToLower(text)
		if !strings.Contains(low, "the same arguments") || !strings.Contains(low, "call again") && !strings.Contains(low, "call once more") ||
			strings.Contains(low, "do not repeat") {
			continue
		}
		seconds := 1
		if m := repeat.FindStringSubmatch(text); m != nil {
			seconds, _ = strconv.Atoi(m[1])
		}
		return time.Duration(seconds) * time.Second, true
	}
	return 0, false
}

// speaks checks that an answer stands alone: what a model reads must not lead to
// a second effect, whatever it is wrapped in.
func (w *world) speaks(step faultkit.Step, in intent) {
	w.Helper()
	if !w.door.mcp() || step.Err != nil || step.Result.Operation == nil {
		return
	}
	text := strings.Join(step.Result.Texts, "\n")
	low := strings.ToLower(text)
	doubtful := step.String() == uncertain || step.String() == unknown
	doubt := strings.ReplaceAll(low, "do not send the identical call again", "")
	if doubtful && (strings.Contains(doubt, "try again") || strings.Contains(doubt, "call again")) {
		w.Errorf("an unknown outcome invites to repeat: %q", text)
	}
	if doubtful && step.Reason() != "tool_error" && !strings.Contains(low, "do not repeat") {
		w.Errorf("an unknown outcome does not say to let it be: %q", text)
	}
	if in.keyless && strings.Contains(low, "new key") {
		w.Errorf("a tool without a key property speaks of keys: %q", text)
	}
	if step.Result.IsError {
		w.verdict(step)
	}
}

// verdict checks the JSON block behind the prose of everything that is no result.
func (w *world) verdict(step faultkit.Step) {
	w.Helper()
	if !w.door.mcp() {
		return
	}
	texts := step.Result.Texts
	var block struct {
		Status, Next string
		Say          string `json:"say_to_user"`
	}
	if len(texts) < 2 || json.Unmarshal([]byte(texts[len(texts)-1]), &block) != nil || block.Status == "" || block.Next == "" || block.Say == "" {
		w.Errorf("an answer lacks its JSON block of status, next and say_to_user: %q", texts)
		return
	}
	if words := len(strings.Fields(texts[len(texts)-2])); words > 80 {
		w.Errorf("%d words, at most 80: %q", words, texts[len(texts)-2])
	}
}
