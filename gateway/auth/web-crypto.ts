/**
 * Node 18 has WebCrypto but not the global that jose reaches for. Imported first by whatever
 * imports jose: modules are evaluated in the order of their imports. Source:
 * nodejs.org/docs/latest-v18.x/api/webcrypto.html.
 */
import { webcrypto } from "node:crypto";

if (globalThis.crypto === undefined) {
  Object.defineProperty(globalThis, "crypto", { value: webcrypto, configurable: true, enumerable: true, writable: true });
}
