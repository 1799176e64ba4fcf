package proxy

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync"
	"time"
)

// Post carries a short text to the other proxies that share the ledger, each of which gives it to its Server's Hear. It may be lost.
type Post interface {
	Send(ctx context.Context, text string) error
}

// The limits of what is forwarded. A stranger can send cancels for nothing: those of one origin are not to drown the others', nor all of them the ledger's server.
const (
	forwardTime = 2 * time.Second // a client waits for the end of its request no longer

	originEvery, originBurst = 200 * time.Millisecond, 20
	sharedEvery, sharedBurst = 50 * time.Millisecond, 50 // of a balancer that does not say whose they are
	everyEvery, everyBurst   = 20 * time.Millisecond, 100

	leastSecret, mostSecret = 4, 256 // bytes: of protocol 3.0, and the most of 3.2
)

// forwards holds back what is forwarded too often.
type forwards struct {
	mu      sync.Mutex
	origins table[origin]
	all     pace
}

func newForwards() *forwards { return &forwards{origins: newTable[origin]()} }

// may counts one from an origin. What is refused costs those of others nothing.
func (f *forwards) may(o origin, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	every, burst := originEvery, originBurst
	if o.shared {
		every, burst = sharedEvery, sharedBurst
	}
	return paced(&f.origins.at(o).next, now, every, burst) && paced(&f.all.next, now, everyEvery, everyBurst)
}

// paced lets one pass every so often, and a burst of them at first (the generic cell rate algorithm).
func paced(next *time.Time, now time.Time, every time.Duration, burst int) bool {
	at := *next
	if at.Before(now) {
		at = now
	}
	if at.Sub(now) > every*time.Duration(burst-1) {
		return false
	}
	*next = at.Add(every)
	return true
}

// forwardedWord begins the text of a forwarded cancel; another word or number is of another version.
const forwardedWord = "cancel-1"

func forwarded(pid uint32, nonce, secret []byte) string {
	return fmt.Sprintf("%s %08x %x %x", forwardedWord, pid, nonce, forwardCode(pid, nonce, secret))
}

// forwardCode is the key's. HMAC takes a key for equal to one with zeros behind it, so it is given the key's hash.
func forwardCode(pid uint32, nonce, secret []byte) []byte {
	key := sha256.Sum256(secret)
	h := hmac.New(sha256.New, key[:])
	h.Write([]byte(forwardedWord))
	h.Write(binary.BigEndian.AppendUint32(nil, pid))
	h.Write(nonce)
	return h.Sum(nil)
}
