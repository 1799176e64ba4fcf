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

// fixedFiles are the page's, by path.
type fixedFiles map[string]file

// files compresses each once.
func files() fixedFiles {
	out := fixedFiles{}
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

// ServeHTTP serves one. There is nothing else to find.
func (all fixedFiles) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, ok := all[r.URL.Path]
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
	_, _ = w.Write(body) // whoever does not take it has left
}
