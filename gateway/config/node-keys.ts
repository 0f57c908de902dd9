/**
 * Removes secrets from node addresses before they leave this gateway. A provider's key in an
 * address belongs to the operator and is replaced by a placeholder, which an agent refuses until
 * its operator puts another key there.
 */

export const nodeKeyPlaceholder = "<NODE_KEY>";

/**
 * A part of a path that cannot be a key, such as `v3`, `eth` or `jsonrpc`. Providers' keys are
 * longer.
 */
const plainPart = /^[a-z][a-z0-9-]{0,11}$|^$/;

/**
 * The address without parts that may be a key: user, password, every value of the query, and each
 * part of the path that is no short word. An address without such parts is returned unchanged.
 */
export function withoutNodeKey(address: string): string {
  const { protocol, host, username, password, pathname, search, hash } = new URL(address);
  const parts = pathname.split("/");
  const hasUser = username !== "" || password !== "";
  if (!hasUser && search === "" && hash === "" && parts.every((part) => plainPart.test(part)))
    return address;
  const path = parts.map((part) => (plainPart.test(part) ? part : nodeKeyPlaceholder)).join("/");
  const asked = search
    .slice(1)
    .split("&")
    .filter((one) => one !== "");
  const query = asked.map((one) =>
    one.includes("=") ? `${one.split("=", 1)[0]}=${nodeKeyPlaceholder}` : nodeKeyPlaceholder,
  );
  const user = hasUser ? `${nodeKeyPlaceholder}@` : "";
  return `${protocol}//${user}${host}${path === "/" ? "" : path}${query.length === 0 ? "" : `?${query.join("&")}`}`;
}
