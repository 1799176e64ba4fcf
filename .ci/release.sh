#!/bin/sh
# Makes a release in dist/: for each architecture an archive and a Debian package. arm64 is made where Debian's cross compiler (g++-aarch64-linux-gnu) is
# installed and links it.
# Usage: .ci/release.sh VERSION, from the repository's root
set -eu
version=$1
export CGO_ENABLED=1
go=${GO:-go}
rm -rf dist
mkdir -p dist

# build ARCH: a stripped binary without paths of this machine, without what of DuckDB nobody calls, and without the names of its functions.
build() {
	GOARCH=$1 $go build -trimpath -ldflags "-s -w -X main.version=v$version -extldflags=-Wl,--gc-sections,--exclude-libs,ALL" -o "dist/$1/dpsql" ./cmd/dpsql
}

# pack ARCH: the files beside the binary are made by this machine's.
pack() {
	STAGE="dist/$1"
	"dist/$host/dpsql" man "$STAGE/man"
	gzip -9n "$STAGE"/man/*.1
	mkdir -p "$STAGE/completion"
	"dist/$host/dpsql" completion bash >"$STAGE/completion/dpsql.bash"
	"dist/$host/dpsql" completion zsh >"$STAGE/completion/_dpsql"
	"dist/$host/dpsql" completion fish >"$STAGE/completion/dpsql.fish"
	sed 's,/usr/local/bin/dpsql,/usr/bin/dpsql,' deploy/dpsql.service >"$STAGE/dpsql.service"
	install -m 0755 deploy/package/postinst deploy/package/prerm "$STAGE"
	sed "s,@STAGE@,$STAGE,; s,@ARCH@,$1,; s,@VERSION@,$version," deploy/package/nfpm.yaml >"$STAGE/nfpm.yaml"
	$go run github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0 package --config "$STAGE/nfpm.yaml" --packager deb --target dist
	name="dpsql-$version-linux-$1"
	mkdir "dist/$name"
	cp -R "$STAGE/dpsql" "$STAGE/man" "$STAGE/completion" deploy/dpsql.service LICENSE README.md CHANGELOG.md "dist/$name"
	tar -C dist --sort=name --owner=0 --group=0 --numeric-owner -czf "dist/$name.tar.gz" "$name"
	rm -r "dist/$name"
}

host=$($go env GOHOSTARCH)
build "$host"
pack "$host"
if [ "$host" = amd64 ] && command -v aarch64-linux-gnu-g++ >/dev/null 2>&1; then
	if (export CC=aarch64-linux-gnu-gcc CXX=aarch64-linux-gnu-g++ && build arm64); then pack arm64; else echo "arm64 does not link here: left out" >&2; fi
fi
(cd dist && sha256sum -- *.tar.gz *.deb >SHA256SUMS && ls -l -- *.tar.gz *.deb)
