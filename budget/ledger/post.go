package ledger

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Post carries short texts between the processes that share a ledger, through its server (LISTEN and NOTIFY): to all that listen, the sender too, at most once. Nothing
// that the budget rests on goes this way. Whoever may connect to the database can listen and notify there, so the texts are encrypted: the key is derived from the ledger's
// first record, which one has to be allowed to read.
type Post struct {
	config  *pgx.ConnConfig
	schema  string
	channel string
	idle    time.Duration // after which a silent connection is tried

	sending chan *pgx.Conn // holds the connection that sends, or nil
}

// The pauses of a connection that listens.
const (
	postIdle  = 30 * time.Second
	postPause = time.Second
)

// mostPosted keeps a sealed text below what PostgreSQL takes, 8000 bytes.
const mostPosted = 4096

// Post is one of its own: Listen runs as long as its caller lets it.
func (l *Postgres) Post() *Post {
	config := l.config.Copy()
	config.RuntimeParams["application_name"] = "dpsql post"
	name := sha256.Sum256([]byte(l.schema))
	p := &Post{config: config, schema: l.schema, channel: "dpsql_" + hex.EncodeToString(name[:16]), idle: postIdle, sending: make(chan *pgx.Conn, 1)}
	p.sending <- nil
	return p
}

// connect opens a connection. What is notified has no part in what must be durable.
func (p *Post) connect(ctx context.Context) (*pgx.Conn, error) {
	c, err := pgx.ConnectConfig(ctx, p.config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if _, err := c.Exec(ctx, "SET synchronous_commit = off"); err != nil {
		end(c)
		return nil, err
	}
	return c, nil
}

// end closes a connection, in whatever state it is.
func end(c *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.Close(ctx)
}

// aead is the key: the same for all over this ledger.
func (p *Post) aead(ctx context.Context, c *pgx.Conn) (cipher.AEAD, error) {
	var first []byte
	if err := c.QueryRow(ctx, "SELECT hash FROM "+p.schema+".records WHERE seq = 1").Scan(&first); err != nil {
		return nil, err
	}
	key := sha256.Sum256(append([]byte("dpsql post "), first...))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// Send notifies the others. A connection that was cut since the last time is opened anew.
func (p *Post) Send(ctx context.Context, text string) error {
	if len(text) > mostPosted {
		return fmt.Errorf("ledger: a text of %d bytes is not posted", len(text))
	}
	var c *pgx.Conn
	select {
	case c = <-p.sending:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { p.sending <- c }()
	var err error
	for range 2 {
		if c == nil {
			if c, err = p.connect(ctx); err != nil {
				return err
			}
		}
		if err = p.notify(ctx, c, text); err == nil {
			return nil
		}
		end(c)
		c = nil
	}
	return err
}

func (p *Post) notify(ctx context.Context, c *pgx.Conn, text string) error {
	key, err := p.aead(ctx, c)
	if err != nil {
		return err
	}
	nonce := make([]byte, key.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return err
	}
	_, err = c.Exec(ctx, "SELECT pg_catalog.pg_notify($1, $2)", p.channel, base64.StdEncoding.EncodeToString(key.Seal(nonce, nonce, []byte(text), nil)))
	return err
}

// Listen gives what is posted to hear, one after the other, until the context ends; trouble is told of each connection that failed. It returns nil.
func (p *Post) Listen(ctx context.Context, hear func(text string), trouble func(error)) error {
	defer func() {
		if c := <-p.sending; c != nil {
			end(c)
		}
		p.sending <- nil
	}()
	for {
		err := p.listen(ctx, hear)
		if ctx.Err() != nil {
			return nil
		}
		trouble(err)
		select {
		case <-time.After(postPause):
		case <-ctx.Done():
			return nil
		}
	}
}

// listen is Listen on one connection.
func (p *Post) listen(ctx context.Context, hear func(string)) error {
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	defer end(c)
	key, err := p.aead(ctx, c)
	if err != nil {
		return err
	}
	if _, err := c.Exec(ctx, "LISTEN "+p.channel); err != nil {
		return err
	}
	for {
		n, err := p.next(ctx, c)
		if err != nil {
			return err
		}
		if n == nil {
			continue
		}
		sealed, err := base64.StdEncoding.DecodeString(n.Payload)
		if err != nil || len(sealed) < key.NonceSize() {
			continue // not of a proxy
		}
		if text, err := key.Open(nil, sealed[:key.NonceSize()], sealed[key.NonceSize():], nil); err == nil {
			hear(string(text))
		}
	}
}

// next waits for a notification; none after a while in which nothing came, if the connection proves to live.
func (p *Post) next(ctx context.Context, c *pgx.Conn) (*pgconn.Notification, error) {
	waiting, stop := context.WithTimeout(ctx, p.idle)
	defer stop()
	n, err := c.WaitForNotification(waiting)
	if err == nil || waiting.Err() == nil || ctx.Err() != nil {
		return n, err
	}
	pinging, done := context.WithTimeout(ctx, patience)
	defer done()
	return nil, c.Ping(pinging)
}
