/** The reason why a connection failed: the system's code, with the address that refused. Pure. */

const addressesMax = 8;
/** The client library has its own codes for two causes that have a code of the system. */
const ours: Readonly<Record<string, string>> = {
  UND_ERR_CONNECT_TIMEOUT: "ETIMEDOUT",
  UND_ERR_SOCKET: "ECONNRESET",
};

interface SystemError {
  readonly code?: unknown;
  readonly address?: unknown;
  readonly port?: unknown;
  readonly errors?: unknown;
  readonly cause?: unknown;
}

/**
 * `text` is for example "ECONNREFUSED (::1 port 8545, 127.0.0.1 port 8545)" or "CERT_HAS_EXPIRED",
 * `code` only the first word. A name with several addresses has one error for each.
 */
export function reasonOf(error: unknown): { readonly code: string; readonly text: string } {
  const all = flat(error, 0);
  const codes = [
    ...new Set(
      all
        .map(({ code }) => code)
        .filter(isCode)
        .map((code) => ours[code] ?? code),
    ),
  ];
  const places = all.flatMap(({ address, port }) =>
    typeof address === "string" && typeof port === "number" ? [`${address} port ${port}`] : [],
  );
  const where = [...new Set(places)].slice(0, addressesMax).join(", ");
  const [code = ""] = codes;
  return {
    code,
    text: `${codes.join(", ") || "connection failed"}${where === "" ? "" : ` (${where})`}`,
  };
}

const isCode = (code: unknown): code is string =>
  typeof code === "string" && /^[A-Z0-9_]{1,64}$/.test(code);

/**
 * The errors of each address, or the error itself. An error without a code is replaced by its
 * cause.
 */
function flat(error: unknown, depth: number): readonly SystemError[] {
  const { errors, cause, code } = (error ?? {}) as SystemError;
  if (depth === 4) return [];
  if (Array.isArray(errors) && errors.length > 0)
    return errors.flatMap((one) => flat(one, depth + 1));
  return isCode(code) || cause === undefined
    ? [(error ?? {}) as SystemError]
    : flat(cause, depth + 1);
}
