package console

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// dist is the page as `make console` built it.
//
//go:embed web/dist
var dist embed.FS

// file is a fixed file of the page, as it is sent.
type file struct{ plain, zipped []byte }

// files are the page's, each compressed once.
func files() map[string]file {
	out := map[string]file{}
	root, err := fs.Sub(dist, "web/dist")
	if err != nil {
		panic(err) // the program was built without its page
	}
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		plain, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err == nil {
			_, err = z.Write(plain)
		}
		if err == nil {
			err = z.Close()
		}
		out["/"+name] = file{plain, b.Bytes()}
		return err
	})
	if err != nil {
		panic(err)
	}
	out["/"] = out["/index.html"]
	return out
}

// kindsOfFiles are the media types; a path without an ending is the page.
var kindsOfFiles = map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}

// file serves one. There is nothing else to find.
func (c *Server) file(w http.ResponseWriter, r *http.Request) {
	f, ok := c.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	kind, ok := kindsOfFiles[path.Ext(r.URL.Path)]
	if !ok {
		kind = "text/html; charset=utf-8"
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	body := f.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = f.zipped
	}
	if _, err := w.Write(body); err != nil {
		c.log.Debug("console: a file was not taken")
	}
}
