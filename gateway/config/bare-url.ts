/**
 * A URL in the configuration that other URLs begin with: https, or plain http only on this machine,
 * with nothing after the folder.
 */
import { isLoopback } from "../../base/loopback.ts";
import { type Reader, shapeFault, string } from "../../protocol/shape.ts";

/**
 * Returns the URL without a slash at the end.
 * @throws AgentError JSON_SHAPE
 */
export const readBareUrl: Reader<string> = (value, path) => {
  const text = string({ min: 1, max: 2048 })(value, path);
  let parsed: URL;
  try {
    parsed = new URL(text);
  } catch {
    throw shapeFault(path, "must be a URL");
  }
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:")
    throw shapeFault(path, "must begin with http:// or https://");
  if (
    parsed.search !== "" ||
    parsed.hash !== "" ||
    parsed.username !== "" ||
    parsed.password !== ""
  )
    throw shapeFault(path, "must be a bare origin or folder");
  if (parsed.protocol === "http:" && !isLoopback(parsed.hostname))
    throw shapeFault(path, "must be https off loopback");
  return text.replace(/\/+$/, "");
};
