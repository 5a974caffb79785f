#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Nobody is told of TLS without being told how clients prove who they are; and
# the options that the manual gives do refuse a client without a certificate.
# shellcheck source=docs.sh
. "${0%/*}/docs.sh"

# Options may go on in the next line.
files=("$abs_top_srcdir"/README.md "$abs_top_srcdir"/man/*.[1-8]
    "$abs_top_srcdir"/contrib/systemd/*.* "$abs_top_srcdir"/contrib/systemd/examples/*)
found=0
for file in "${files[@]}"; do
    test -f "$file" || continue
    while read -r line; do
        found=$((found + 1))
        case $line in
            *--tls-certificates=*--tls-verify-peer*) ;;
            *) die "$file: clients are not asked who they are: $line" ;;
        esac
    done < <(sed 's/\\-/-/g' "$file" | tr '\n' ' ' |
        grep -o -e '--tls=require.\{0,80\}')
done
expect "places that tell of TLS" "$found" -ge 4

requires openssl nbdinfo
nbdkit --dump-config | grep -q '^tls=yes' || skip "nbdkit has no TLS"
read -r -a options < <(sed 's/\\-/-/g' "$plugin_page" |
    grep -o -e '--tls=require.*--tls-verify-peer')

# Usage: certificate NAME DIR
certificate ()
{
    openssl req -newkey rsa:2048 -nodes -keyout "$2/$1-key.pem" \
        -subj /CN=localhost -out "$tmp/$1.csr"
    openssl x509 -req -in "$tmp/$1.csr" -CA "$tmp/server/ca-cert.pem" \
        -CAkey "$tmp/ca-key.pem" -set_serial "$RANDOM" -days 2 \
        -extfile <(echo subjectAltName=DNS:localhost) -out "$2/$1-cert.pem"
}
mkdir "$tmp/server" "$tmp/client" "$tmp/nobody"
{
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$tmp/ca-key.pem" \
        -out "$tmp/server/ca-cert.pem" -subj /CN=ca -days 2
    cp "$tmp/server/ca-cert.pem" "$tmp/client"
    cp "$tmp/server/ca-cert.pem" "$tmp/nobody"
    certificate server "$tmp/server"
    certificate client "$tmp/client"
} >"$tmp/openssl.log" 2>&1 || die "openssl: $(cat "$tmp/openssl.log")"

start_nbdkit "$plugin" 64M "${options[@]/DIR/$tmp/server}"
tls_uri="nbds+unix://localhost/?socket=$sock&tls-certificates="
expect "size" "$(nbdinfo --size "$tls_uri$tmp/client")" -eq 67108864
expect_fails nbdinfo --size "$tls_uri$tmp/nobody" 2>/dev/null
expect_fails nbdinfo --size "$uri" 2>/dev/null
