/** Recognises addresses of this machine, for which plain http does no harm. Pure. */

/**
 * True if a host is localhost, 127.0.0.0/8 or ::1. `host` is a URL's hostname, or an address to
 * listen on. A URL has already brought other spellings of an IPv4 address into dotted form.
 */
export function isLoopback(host: string): boolean {
  return (
    host === "localhost" || host === "::1" || host === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(host)
  );
}
