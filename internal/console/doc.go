// Package console serves the page on which analysts ask in a browser. It is a client of the proxy: each log-in to the page is one session of the proxy, over a
// connection that passes no network (proxy.Server.Connect). So rights, limits, prices, refusals, log-in rates and cancels are the proxy's own. Owners have a page
// there too, by a link alone: it asks an Owner, as their commands do.
//
// File server.go has the HTTP server and its defences, and listener.go its connections. login.go has log-ins, link.go links, and session.go sessions. api.go has
// what an analyst's page asks, events.go a statement's run, owner.go what the owner's page asks, and reply.go answers and errors.
// Folder web has the page: src is its source, and dist is what is served. `make console` makes dist of src.
//
// Contract. The server writes no text of an analyst's or of the data into HTML: it serves fixed files, JSON and server-sent events of JSON. Nothing is done
// by GET. A request needs the session's cookie and its token, which the page holds in memory. An endpoint is for analysts' sessions or for owners', never for both.
package console
