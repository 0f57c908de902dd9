/**
 * A URL in the configuration that other URLs begin with: https, or plain http only on this machine,
 * with nothing after the folder.
 */
import { leavesInPlainText, readUrl, settings } from "../../base/settings.ts";
import type { Reader } from "../../base/shape.ts";

/**
 * Returns the URL without a slash at the end.
 * @throws AgentError CONFIG_TYPE, CONFIG_VALUE
 */
export const readBareUrl: Reader<string> = (value, path) => {
  const text = readUrl(value, path);
  const url = new URL(text);
  if (url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "")
    throw settings.valueFault(path, "must be a bare origin or folder");
  if (leavesInPlainText(url))
    throw settings.valueFault(path, `is http, and ${url.hostname} is not this machine`);
  return text.replace(/\/+$/, "");
};
